//! Fuzzing of every decoder, with the nightly compiler.

use std::fs;

use anyhow::{Context, Result};

use crate::gate::Skipped;
use crate::{shell, tools};

/// How long each decoder is fuzzed.
const SECONDS_EACH: u32 = 60;

/// Fuzzes each target of `fuzz/Cargo.toml` for a while.
///
/// # Errors
/// If a decoder panics or leaks; the input lies in `fuzz/artifacts`.
pub fn run() -> Result<()> {
    let toolchains = match shell::find("rustup") {
        Some(rustup) => {
            String::from_utf8(shell::output(shell::program(rustup).args(["toolchain", "list"]))?)?
        }
        None => String::new(),
    };
    if !toolchains.lines().any(|line| line.starts_with("nightly-")) {
        return Err(Skipped("no nightly compiler (`rustup toolchain install nightly`)").into());
    }
    let cargo_fuzz = tools::cargo_fuzz()?;
    for target in targets()? {
        shell::progress(&format!("fuzzing {target} for {SECONDS_EACH} s"));
        shell::run(
            shell::program(&cargo_fuzz)
                .args(["fuzz", "run", &target, "--", "-rss_limit_mb=2048"])
                .arg(format!("-max_total_time={SECONDS_EACH}"))
                .env("RUSTUP_TOOLCHAIN", "nightly")
                .env_remove("CARGO"),
        )?;
    }
    Ok(())
}

fn targets() -> Result<Vec<String>> {
    let path = shell::root().join("fuzz/Cargo.toml");
    let text =
        fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let manifest: toml::Table =
        text.parse().with_context(|| format!("{} is no TOML", path.display()))?;
    let bins = manifest.get("bin").and_then(toml::Value::as_array);
    let bins = bins.with_context(|| format!("{} lists no [[bin]]", path.display()))?;
    let name = |bin: &toml::Value| bin.get("name")?.as_str().map(str::to_owned);
    bins.iter()
        .map(|bin| {
            name(bin).with_context(|| format!("{} has a [[bin]] without name", path.display()))
        })
        .collect()
}
