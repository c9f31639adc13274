//! Settings that scenarios write as text, such as `"100 packets"`.

/// Reads and writes a type as its text in scenarios, and describes that text by a pattern.
macro_rules! text_setting {
    ($type:ident, $examples:tt, $pattern:literal, $description:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "examples": $examples, "pattern": $pattern, "description": $description
                })
            }
        }
    };
}

pub(crate) use text_setting;
