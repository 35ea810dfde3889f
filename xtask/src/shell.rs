//! Running other programs from the root of the repository.

use std::cell::RefCell;
use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

thread_local! {
    /// Where this thread's programs write, if that is not the terminal.
    static LOG: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Lets everything that `task` runs from this thread, and its progress, be written to a file.
///
/// # Errors
/// If the file cannot be made. What `task` came to is the inner result.
pub fn logging_to<T>(path: &Path, task: impl FnOnce() -> T) -> Result<T> {
    let file = File::create(path).with_context(|| format!("{} cannot be made", path.display()))?;
    LOG.set(Some(file));
    let result = task();
    LOG.set(None);
    Ok(result)
}

/// Where programs started from this thread write.
fn sink() -> Result<Option<File>> {
    Ok(LOG.with_borrow(|log| log.as_ref().map(File::try_clone).transpose())?)
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one folder below the root")
}

/// A program, to be run from the root of the repository.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    // What `cargo run` tells xtask about itself would make a cargo started from here believe that
    // build scripts' inputs had changed, and rebuild.
    for (key, _) in env::vars_os() {
        let name = key.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&key);
        }
    }
    // Whoever has a wrapper already keeps it: this one only saves time.
    if env::var_os("RUSTC_WRAPPER").is_none() {
        command.env("RUSTC_WRAPPER", root().join("xtask/lean-tests.sh"));
    }
    // Where nothing is compiled a second time, nothing need be kept for that.
    if env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// The cargo that runs this program, with the given arguments.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a program to its end; its output goes to the terminal, or to the thread's log.
///
/// # Errors
/// If it cannot be started or does not succeed; the error names the command line.
pub fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    if let Some(log) = sink()? {
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    }
    let status = command.status().with_context(|| format!("`{line}` cannot be started"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a program to its end and returns what it printed; what it says on stderr goes where
/// [`run`]'s output goes.
///
/// # Errors
/// As [`run`].
pub fn output(command: &mut Command) -> Result<Vec<u8>> {
    let line = command_line(command);
    let stderr = sink()?.map_or_else(Stdio::inherit, Stdio::from);
    let output =
        command.stderr(stderr).output().with_context(|| format!("`{line}` cannot be started"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    Ok(output.stdout)
}

/// Where a program lies on the `PATH`, if it does.
pub fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// One line of progress, on stderr or in the thread's log.
pub fn progress(text: &str) {
    match sink() {
        // A log that cannot be written shows in the programs that write to it.
        Ok(Some(mut log)) => drop(writeln!(log, "xtask: {text}")),
        _ => eprintln!("xtask: {text}"),
    }
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
