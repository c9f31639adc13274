"""Version of the installed package, read from its metadata: one source, the workspace's ``Cargo.toml``."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("anabranch")
except PackageNotFoundError:  # imported from a source tree that was never installed
    __version__ = "0+unknown"
