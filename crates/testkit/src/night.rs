//! How much is tried.

/// Whether everything is to be tried, as `OSTRAKON_NIGHTLY` asks; by default a part is.
pub fn nightly() -> bool {
    std::env::var_os("OSTRAKON_NIGHTLY").is_some()
}
