//! `cargo xtask up`: from a fresh clone to three running servers.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};

use crate::{shell, web};

/// Builds the page and the program, then becomes `ostrakon up` with the further arguments `rest`.
///
/// # Errors
/// If something is missing that cannot be installed from here, or does not compile.
pub fn up(rest: &[String]) -> Result<()> {
    web::install()?;
    web::build_wasm()?;
    web::build()?;
    shell::progress("building the servers");
    shell::run(&mut shell::cargo(&["build", "--release", "--package", "ostrakon"]))?;
    shell::progress(
        "starting; Ctrl-C stops everything, and the next start continues with the same data",
    );
    // Taking over this process lets Ctrl-C reach the servers' supervisor and nobody else.
    let failure =
        shell::program(shell::root().join("target/release/ostrakon")).args(arguments(rest)).exec();
    Err(failure).context("target/release/ostrakon cannot be started")
}

/// The room for messages is offered beside the other one, with a partner for practice.
/// `ostrakon up` has it on demand: that partner keeps rounds of a second going for as long as it
/// runs.
fn arguments(rest: &[String]) -> Vec<String> {
    let decides = |given: &String| {
        let option = given.split('=').next().unwrap_or_default();
        ["--messages", "--engine", "--help"].contains(&option)
    };
    let mut all: Vec<String> = ["up", "--web", "web/dist"].map(String::from).into();
    if !rest.iter().any(decides) {
        all.push("--messages".into());
    }
    all.extend_from_slice(rest);
    all
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn messages_are_offered_where_there_are_three_servers_for_rooms() {
        let with = |rest: &[&str]| {
            arguments(&rest.iter().map(|one| String::from(*one)).collect::<Vec<_>>())
        };
        let offers = |rest: &[&str]| with(rest).iter().filter(|one| *one == "--messages").count();
        assert_eq!(with(&["--base-port", "9000"])[3..], ["--messages", "--base-port", "9000"]);
        assert_eq!(offers(&["--messages", "--committee", "3"]), 1);
        for mixer in [&["--engine", "asynchromix"][..], &["--engine=asynchromix"]] {
            assert_eq!(offers(mixer), 0, "it has no other rooms");
        }
    }
}
