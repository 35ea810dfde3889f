//! The project's own commands: `cargo xtask up` runs a local deployment, `cargo xtask test` is the
//! gate.
//!
//! Both install what they need where that is possible without touching the system (everything lands
//! in `target/`, `web/node_modules/`, `~/.cache/ostrakon` or the rustup toolchain), and otherwise
//! say exactly what to install.

mod costs;
mod fuzz;
mod gate;
mod layers;
mod mutants;
mod picture;
mod postgres;
mod shell;
mod simulate;
mod tidy;
mod tools;
mod up;
mod web;
mod worldwide;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Ostrakon's project commands")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds everything and runs three servers on this machine; Ctrl-C stops them.
    Up {
        /// Further arguments for `ostrakon up`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Runs every check and every test, and stops at the first failure.
    Test(gate::Options),
    /// Checks the direction of dependencies between the crates.
    Layers,
    /// Draws the crates and a message's way, `docs/architecture.svg`.
    Picture,
    /// Checks the length of files, lines and subjects of commits, and that nothing is unfinished.
    Tidy,
    /// Runs a command with a PostgreSQL for tests beside it: `cargo xtask postgres cargo test -p
    /// ostrakon-store`.
    Postgres {
        /// The command and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<String>,
    },
    /// Runs the Rust tests and prints what they cost, each and by suite: seconds of processor time,
    /// and from beginning to end.
    Costs {
        /// Arguments of `cargo nextest run` that choose tests, such as `-E 'test(storm)'`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// What cargo-nextest runs each test by, for `costs`.
    #[command(name = costs::RUNNER, hide = true)]
    RunOne {
        /// The test's program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<String>,
    },
    /// Plants deliberate defects in a copy of the sources, and sees to it that each is found.
    Mutants {
        /// Plants only those whose names contain this, or that this crate's tests find.
        #[arg(default_value = "")]
        name: String,
    },
    /// Builds the browser's cryptography from `crates/wasm` into `web/src/wasm`.
    Wasm,
    /// Lets groups of several sizes talk in real browsers, in rooms that the page's form makes for
    /// them, and prints what they see and when: 1, 2, 3, 5, 8 and 30 people unless given.
    Stories {
        /// How many people.
        people: Vec<u16>,
    },
    /// Measures a visit of the one-pass protocol in Chromium, with numbers of 32 and of 64 bits;
    /// prints JSON.
    BenchWasm,
    /// Runs so many seeds of the simulation: of rooms, decisions and jobs, among two to seven
    /// servers. A run that was stopped goes on where it was.
    Simulate(simulate::Options),
    /// Simulates AsynchroMix among a hundred servers around the world, and draws
    /// `docs/worldwide.svg`.
    Worldwide {
        /// Further arguments of the simulation; `--help` tells them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Up { rest } => up::up(&rest),
        Command::Test(options) => gate::run(&options),
        Command::Layers => layers::check(),
        Command::Picture => picture::write(),
        Command::Tidy => tidy::check(),
        Command::Postgres { command } => postgres::beside(&command),
        Command::Costs { arguments } => costs::run(&arguments),
        Command::RunOne { command } => return exit(costs::run_one(&command)),
        Command::Mutants { name } => mutants::run(&name),
        Command::Wasm => web::build_wasm(),
        Command::Stories { people } => web::stories(&people),
        Command::BenchWasm => web::bench_wasm(),
        Command::Simulate(options) => simulate::run(&options),
        Command::Worldwide { rest } => worldwide::run(&rest),
    };
    exit(result.map(|()| ExitCode::SUCCESS))
}

fn exit(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}
