//! The macro behind the registries of arrival laws, size laws and placement patterns: an enum whose variants each hold
//! the configuration of one law, and which can be looked at as the trait that all of them implement. It publishes the
//! configurations, too.

macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum $name:ident as dyn $law:ident, tag $tag:literal { $( $(#[$doc:meta])* $variant:ident($module:ident::$config:ident), )* }
    ) => {
        $( pub use $module::$config; )*

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = $tag, rename_all = "kebab-case")]
        pub enum $name {
            $( $(#[$doc])* $variant($module::$config), )*
        }

        impl $name {
            /// The law itself.
            pub fn law(&self) -> &dyn $law {
                match self {
                    $( Self::$variant(config) => config, )*
                }
            }
        }
    };
}

pub(crate) use registry;
