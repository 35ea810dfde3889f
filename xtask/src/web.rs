//! The web page: the cryptography as WASM, the npm packages, and the page itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::{shell, tools};

const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// The width of the limbs of curve25519-dalek's arithmetic in the browser. WebAssembly has no
/// multiplication of 64 bits to 128: wide limbs take more than twice as long, which `cargo xtask
/// bench-wasm` measures (docs/benchmarks.md, "In a browser").
const DALEK_BITS: &str = "32";

/// Builds `crates/wasm` and its JavaScript bindings into `web/src/wasm`.
///
/// The bindings' generator is a library of this program, pinned by `Cargo.lock` to the version of
/// the crate `wasm-bindgen`: the two must match exactly.
///
/// # Errors
/// If the target is missing, the crate does not compile, or the bindings cannot be made.
pub fn build_wasm() -> Result<()> {
    tools::wasm_target()?;
    shell::progress("building the browser's cryptography");
    shell::run(
        shell::cargo(&[
            "build",
            "--release",
            "--package",
            "ostrakon-wasm",
            "--target",
            WASM_TARGET,
        ])
        .env("CARGO_ENCODED_RUSTFLAGS", flags(DALEK_BITS)?),
    )?;
    let module = shell::root().join("target").join(WASM_TARGET).join("release/ostrakon_wasm.wasm");
    bind(&module, &directory().join("src/wasm"))
}

/// Measures a visit of the one-pass protocol in Chromium, with both of curve25519-dalek's
/// arithmetics, and prints JSON.
///
/// # Errors
/// If the target or the browser is missing, or the measurement fails.
pub fn bench_wasm() -> Result<()> {
    tools::wasm_target()?;
    install()?;
    let mut command = shell::program("node");
    command.arg("bench/visits.mjs").current_dir(directory());
    for bits in ["32", "64"] {
        shell::progress(&format!("building the protocol with numbers of {bits} bits"));
        // A folder of its own: other flags would compile everything that the page uses again.
        let target = shell::root().join(format!("target/bench-wasm/{bits}"));
        let arguments = [
            "build",
            "--release",
            "--package",
            "ostrakon-wasm",
            "--example",
            "visits",
            "--target",
            WASM_TARGET,
        ];
        shell::run(
            shell::cargo(&arguments)
                .env("CARGO_ENCODED_RUSTFLAGS", flags(bits)?)
                .env("CARGO_TARGET_DIR", &target),
        )?;
        let out = target.join("bindings");
        bind(&target.join(WASM_TARGET).join("release/examples/visits.wasm"), &out)?;
        command.arg(format!("{bits}={}", out.display()));
    }
    shell::progress("measuring in Chromium");
    shell::run(&mut command)
}

/// Makes a module's JavaScript bindings.
fn bind(module: &Path, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("{} cannot be made", out.display()))?;
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out)
        .with_context(|| format!("no bindings could be made from {}", module.display()))
}

/// Compiler flags of the browser's cryptography.
fn flags(dalek_bits: &str) -> Result<String> {
    let paths = without_local_paths()?;
    Ok(format!("{paths}\u{1f}--cfg\u{1f}curve25519_dalek_bits=\"{dalek_bits}\""))
}

/// Compiler flags that keep the builder's folders out of panic messages: everybody who builds the
/// page gets the same one.
fn without_local_paths() -> Result<String> {
    let cargo_home = match std::env::var("CARGO_HOME") {
        Ok(path) => path,
        Err(_) => format!(
            "{}/.cargo",
            std::env::var("HOME").context("neither CARGO_HOME nor HOME is set")?
        ),
    };
    let root = shell::root().display();
    // Cargo separates these flags by a control character, so that paths may contain spaces.
    Ok(format!("--remap-path-prefix={root}=/ostrakon\u{1f}--remap-path-prefix={cargo_home}=/cargo"))
}

/// Installs the npm packages that `package-lock.json` names, if that has changed since the last
/// time.
///
/// # Errors
/// If the page's sources, Node.js or a package are missing.
pub fn install() -> Result<()> {
    let manifest = directory().join("package.json");
    if !manifest.is_file() {
        bail!("{} is missing: without it there is no web page to build", manifest.display());
    }
    tools::node()?;
    let lock = directory().join("package-lock.json");
    if !lock.is_file() {
        bail!("{} is missing; `npm install` in web/ makes it", lock.display());
    }
    if is_newer(&directory().join("node_modules/.package-lock.json"), &lock)? {
        return Ok(());
    }
    shell::progress("installing the web page's packages");
    shell::run(npm(&["ci", "--no-audit", "--no-fund"]).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"))
}

/// Writes the types of the servers' interface, from their OpenAPI document, into the page's
/// sources.
///
/// # Errors
/// If the document or the types cannot be made.
pub fn build_schema() -> Result<()> {
    shell::progress("writing the types of the servers' interface");
    let document = shell::root().join("target/openapi.json");
    // Built as the tests build it, with the whole workspace's choice of features: with those of one
    // package alone, nearly every dependency would be compiled once more.
    shell::run(&mut shell::cargo(&["build", "--quiet", "--workspace", "--example", "openapi"]))?;
    let text = shell::program(shell::root().join("target/debug/examples/openapi"))
        .stderr(Stdio::inherit())
        .output()
        .context("the servers' description of themselves cannot be run")?;
    if !text.status.success() {
        bail!("the servers' OpenAPI document cannot be made");
    }
    fs::write(&document, text.stdout)
        .with_context(|| format!("{} cannot be written", document.display()))?;
    let document = document.to_str().context("the project's path is not text")?;
    shell::run(&mut npm(&[
        "exec",
        "--",
        "openapi-typescript",
        document,
        "--output",
        "src/lib/servers/schema.d.ts",
    ]))
}

/// Builds the page into `web/dist`.
///
/// # Errors
/// If the page does not compile.
pub fn build() -> Result<()> {
    shell::progress("building the web page");
    shell::run(&mut npm(&["run", "--silent", "build"]))
}

/// Builds the cryptography and the page once more, and compares: everybody who builds them must get
/// the same files.
///
/// # Errors
/// If a file differs, or nothing was built before.
pub fn build_again() -> Result<()> {
    let list = directory().join("dist/hashes.json");
    let before = fs::read_to_string(&list)
        .with_context(|| format!("{}: build the page first", list.display()))?;
    let target = shell::root().join("target/wasm32-unknown-unknown");
    fs::remove_dir_all(&target)
        .with_context(|| format!("{} cannot be removed", target.display()))?;
    build_wasm()?;
    build()?;
    if fs::read_to_string(&list)? != before {
        bail!("the page came out differently when it was built again");
    }
    Ok(())
}

/// npm in `web/`, with the given arguments.
pub fn npm(arguments: &[&str]) -> Command {
    let mut command = shell::program("npm");
    command.args(arguments).current_dir(directory());
    command
}

fn directory() -> PathBuf {
    shell::root().join("web")
}

/// Whether `path` exists and was written after `other`.
fn is_newer(path: &Path, other: &Path) -> Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    Ok(fs::metadata(other)?.modified()? <= fs::metadata(path)?.modified()?)
}

/// Runs the stories of groups in Chromium, against the program as it was built for tests.
///
/// # Errors
/// If the page or the program is not built, or a story does not come to its end.
pub fn stories(people: &[u16]) -> Result<()> {
    build_wasm()?;
    build()?;
    shell::run(&mut shell::cargo(&["build", "--quiet", "--workspace", "--bins"]))?;
    let mut node = shell::program("node");
    node.arg("e2e/stories/run.mjs").args(people.iter().map(u16::to_string));
    node.env("CHROMIUM", tools::chromium()?);
    node.env("OSTRAKON", shell::root().join("target/debug/ostrakon"));
    shell::run(node.current_dir(directory()))
}
