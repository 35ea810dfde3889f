//! The tools that the project needs beside cargo: found, installed where that is harmless, or
//! named.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::shell;

const WASM_TARGET: &str = "wasm32-unknown-unknown";
const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";
const CARGO_NEXTEST: &str = "0.9.151";
/// Major and minor version; `engines` in `web/package.json` says the same.
const OLDEST_NODE: (u32, u32) = (20, 19);

/// Makes sure that the compiler can build for the browser.
///
/// # Errors
/// If the standard library for it is missing and there is no rustup to fetch it.
pub fn wasm_target() -> Result<()> {
    let sysroot = shell::output(shell::program("rustc").args(["--print", "sysroot"]))?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot)?.trim());
    if sysroot.join("lib/rustlib").join(WASM_TARGET).is_dir() {
        return Ok(());
    }
    if shell::find("rustup").is_none() {
        bail!(
            "Rust's standard library for {WASM_TARGET} is missing; install it with \
             `apt-get install libstd-rust-dev-wasm32` (Debian's Rust) or `rustup target add {WASM_TARGET}`"
        );
    }
    shell::progress("adding the browser as a target of the compiler");
    shell::run(shell::program("rustup").args(["target", "add", WASM_TARGET]))
}

/// Makes sure that Node.js and npm are there and recent enough.
///
/// # Errors
/// If they are not; the error says what to install.
pub fn node() -> Result<()> {
    let (major, minor) = OLDEST_NODE;
    let remedy = format!(
        "install Node.js {major}.{minor} or newer with npm (Debian 13: `apt-get install nodejs npm`)"
    );
    for name in ["node", "npm"] {
        if shell::find(name).is_none() {
            bail!("`{name}` is missing: {remedy}");
        }
    }
    let version = String::from_utf8(shell::output(shell::program("node").arg("--version"))?)?;
    if major_and_minor(version.trim()).is_none_or(|found| found < OLDEST_NODE) {
        bail!("Node.js {} is too old: {remedy}", version.trim());
    }
    Ok(())
}

/// Of a version such as `v20.19.1`.
fn major_and_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix('v')?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The path of cargo-deny, installed if need be.
///
/// # Errors
/// If the installation fails.
pub fn cargo_deny() -> Result<PathBuf> {
    installed("cargo-deny", CARGO_DENY, &[])
}

/// The path of cargo-fuzz, installed if need be.
///
/// # Errors
/// If the installation fails.
pub fn cargo_fuzz() -> Result<PathBuf> {
    installed("cargo-fuzz", CARGO_FUZZ, &[])
}

/// The path of cargo-nextest, installed if need be.
///
/// # Errors
/// If the installation fails.
pub fn cargo_nextest() -> Result<PathBuf> {
    // Without what lets it replace itself.
    let features = ["--no-default-features", "--features", "default-no-update"];
    installed("cargo-nextest", CARGO_NEXTEST, &features)
}

/// A folder for tools, for all clones of the repository together: compiling them takes as long as
/// compiling the project.
fn tools() -> Result<PathBuf> {
    if let Some(cache) = std::env::var_os("XDG_CACHE_HOME") {
        return Ok(PathBuf::from(cache).join("ostrakon/tools"));
    }
    let home = std::env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(PathBuf::from(home).join(".cache/ostrakon/tools"))
}

fn installed(name: &str, version: &str, features: &[&str]) -> Result<PathBuf> {
    // A folder for each version: clones may need different ones.
    let folder = tools()?.join(format!("{name}-{version}"));
    let path = folder.join("bin").join(name);
    if path.is_file() {
        return Ok(path);
    }
    shell::progress(&format!("installing {name} {version} (some minutes, once)"));
    // The tool runs for seconds: it is compiled to be ready soon, not to be fast.
    shell::run(
        shell::cargo(&["install", "--quiet", "--locked", name, "--version", version])
            .args(features)
            .arg("--root")
            .arg(&folder)
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "64")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    )
    .with_context(|| format!("{name} is needed for this step"))?;
    Ok(path)
}

/// The path of a Chromium for the browser test: from the variable `CHROMIUM`, from the `PATH`, or
/// installed from Debian's packages when run by root.
///
/// # Errors
/// If there is none and it cannot be installed; the error says how to.
pub fn chromium() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return Ok(path.into());
    }
    let path = whole_chromium()?;
    // Tests use the browser without a window's frame if it stands beside: it takes half the time.
    let debian = path == Path::new("/usr/bin/chromium") && shell::find("apt-get").is_some();
    if debian
        && !Path::new("/usr/bin/chromium-headless-shell").is_file()
        && is_root()?
        && let Err(error) = apt_install("chromium-headless-shell")
    {
        shell::progress(&format!("the browser tests take twice as long without it: {error}"));
    }
    Ok(path)
}

fn whole_chromium() -> Result<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    if let Some(path) = names.iter().find_map(|name| shell::find(name)) {
        return Ok(path);
    }
    let remedy = "install it with `apt-get install chromium`, or set the variable CHROMIUM to the path of one";
    if shell::find("apt-get").is_none() || !is_root()? {
        bail!("Chromium is missing: {remedy}");
    }
    apt_install("chromium")?;
    shell::find("chromium")
        .with_context(|| format!("Chromium is missing after its installation: {remedy}"))
}

/// The directory of PostgreSQL's programs: of the newest version that Debian's packages have put
/// there, or of those on the `PATH`, or installed from Debian's packages when run by root.
///
/// # Errors
/// If there is none and it cannot be installed; the error says how to.
pub fn postgres() -> Result<PathBuf> {
    if let Some(path) = installed_postgres() {
        return Ok(path);
    }
    let remedy = "install it with `apt-get install postgresql`, or put its `initdb` and `postgres` on the PATH";
    if shell::find("apt-get").is_none() || !is_root()? {
        bail!("PostgreSQL is missing: {remedy}");
    }
    apt_install("postgresql")?;
    installed_postgres()
        .with_context(|| format!("PostgreSQL is missing after its installation: {remedy}"))
}

fn installed_postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let debian =
        newest.max().map(|(_, path)| path.join("bin")).filter(|path| path.join("initdb").is_file());
    debian.or_else(|| Some(shell::find("initdb")?.parent()?.to_owned()))
}

fn apt_install(package: &str) -> Result<()> {
    // Two lanes may want something at the same time, and only one apt-get runs at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    shell::progress(&format!("installing {package} from Debian's packages"));
    // Without a network that is soon known.
    let patience = ["--option", "Acquire::Retries=0", "--option", "Acquire::http::Timeout=20"];
    shell::run(shell::program("apt-get").args(["update", "--quiet"]).args(patience))?;
    shell::run(
        shell::program("apt-get")
            .args(["install", "--yes", "--quiet", "--no-install-recommends", package])
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

/// Whether this process is root's.
///
/// # Errors
/// If the system does not say.
pub fn is_root() -> Result<bool> {
    Ok(shell::output(shell::program("id").arg("--user"))?.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::{OLDEST_NODE, major_and_minor};

    #[test]
    fn versions_of_node_are_ordered_by_number() {
        assert_eq!(major_and_minor("v20.19.1"), Some(OLDEST_NODE));
        assert!(major_and_minor("v100.2.0") > major_and_minor("v20.20.0"));
        assert_eq!(major_and_minor("20"), None);
    }
}
