//! The `ostrakon` command: runs servers, and takes part in rooms.
//!
//! `main` only reports: every command returns its error, which names the cause and the remedy, and
//! exit codes say what kind of failure it was. Results go to standard output (as JSON with
//! `--json`), everything else to standard error.

#[cfg(test)]
#[path = "../../client/tests/arriving/script.rs"]
mod arriving_script;
#[cfg(test)]
#[path = "../../client/tests/visitor/beginnings.rs"]
mod beginnings_script;
mod bench;
mod chat;
mod client;
mod committee;
mod completions;
mod decide;
#[cfg(test)]
#[path = "../../client/tests/traces/exchange.rs"]
mod exchange;
mod failure;
mod graph;
#[cfg(test)]
#[path = "../../client/tests/host/script.rs"]
mod host_script;
#[cfg(test)]
#[path = "../../client/tests/joining/script.rs"]
mod joining_script;
mod local;
mod man;
mod mixer;
mod output;
mod rooms;
mod secret;
mod serving;
mod stats;
mod system;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::local::{demo, up};
use crate::rooms::{export, fault, host, room, say, verify, watch};
use crate::serving::{check, init, log, renewal, serve, token, web};

/// Groups speak, write to each other, decide and count together, and nobody learns who said what:
/// several servers hold pieces that tell nothing.
#[derive(Parser)]
#[command(name = "ostrakon", version, after_help = failure::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the keys and the configuration of one server, or of three local ones.
    Init(Box<init::Options>),
    /// Runs one server.
    Serve(serve::Options),
    /// Checks configurations.
    #[command(subcommand)]
    Config(check::Command),
    /// Replaces tokens while the server runs.
    #[command(subcommand)]
    Token(token::Command),
    /// Goes on after one of the three servers has lost its data.
    #[command(subcommand)]
    Renewal(renewal::Command),
    /// Runs three servers on this machine, set up on the first start.
    Up(up::Options),
    /// Creates, lists, shows and closes rooms.
    #[command(subcommand)]
    Room(room::Command),
    /// Hosts a room: marks, polls, members, closing.
    #[command(subcommand)]
    Host(host::Command),
    /// Says something in a room, and waits until it is on the board.
    Say(say::Options),
    /// Exchanges messages with one other person, without anybody learning who talks to whom.
    #[command(subcommand)]
    Chat(chat::Command),
    /// Prints a room's board as it grows, checking every entry.
    Watch(watch::Options),
    /// Checks an exported board, offline.
    Verify(verify::Options),
    /// Writes a room's whole board to a file that `verify` checks.
    Export(export::Options),
    /// Lets a group decide without anybody learning who answered what.
    #[command(subcommand)]
    Decide(decide::Command),
    /// Runs servers that compute on what people hand in, and learn nothing but the result.
    #[command(subcommand)]
    Committee(committee::Command),
    /// Runs rooms whose servers may fail, be blocked or seized, and what is under way comes out.
    #[command(subcommand)]
    Mixer(mixer::Command),
    /// Asks many people for a number each, of which nobody learns one: median, mean, histogram …
    #[command(subcommand)]
    Stats(stats::Command),
    /// Computes on several owners' edges, of which nobody learns one: distances, degrees …
    #[command(subcommand)]
    Graph(graph::Command),
    /// Judges what misbehaving servers left behind.
    #[command(subcommand)]
    Fault(fault::Command),
    /// Shows the whole system at work with real server processes.
    #[command(subcommand)]
    Demo(demo::Command),
    /// Measures the protocols on this machine.
    #[command(subcommand)]
    Bench(bench::Command),
    /// Checks that every operator of a room serves the same page, file by file.
    VerifyWeb(web::verify::Options),
    /// Signs the list of a built page's files, for a release.
    SignWeb(web::sign::Options),
    /// Writes the manual pages into a directory.
    Man(man::Options),
    /// Prints a completion script for a shell.
    Completions(completions::Options),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let serves = log_form(&cli.command).is_some();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where the log says nothing, the reason must still be found.
            if serves && tracing::enabled!(tracing::Level::ERROR) {
                let error = format!("{error:#}");
                tracing::error!(error, "the server cannot run");
            } else {
                // A server's words may be in it.
                eprintln!("ostrakon: {}", output::harmless(format!("{error:#}").as_bytes()));
            }
            failure::exit_code(&error)
        }
    }
}

/// The form of the log, if the command runs a server.
fn log_form(command: &Command) -> Option<log::Format> {
    match command {
        Command::Serve(options) => Some(options.log_format),
        Command::Committee(committee::Command::Serve(options)) => Some(options.serving.log_format),
        Command::Mixer(mixer::Command::Serve(options)) => Some(options.serving.log_format),
        _ => None,
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let form = log_form(&command);
    let log = log::start(form);
    if form.is_some() {
        // Whoever reads a server's log reads lines of one form.
        std::panic::set_hook(Box::new(|panic| {
            let panic = panic.to_string();
            tracing::error!(panic, "a defect of this program");
        }));
    }
    if let Command::Committee(committee::Command::Serve(_)) = &command {
        // Threads take it over from the one that starts them.
        committee::give_way();
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let result = match command {
        Command::Init(options) => init::run(*options),
        Command::Verify(options) => verify::run(&options),
        Command::Fault(command) => fault::run(&command),
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => man::run(&options),
        Command::SignWeb(options) => web::sign::run(&options),
        Command::VerifyWeb(options) => runtime.block_on(web::verify::run(options)),
        Command::Bench(command) => bench::run(&command),
        Command::Serve(options) => runtime.block_on(serve::run(options, log)),
        Command::Config(command) => runtime.block_on(check::run(command)),
        Command::Token(command) => token::run(&command),
        Command::Renewal(command) => runtime.block_on(renewal::run(command)),
        Command::Up(options) => runtime.block_on(up::run(options)),
        Command::Committee(command) => runtime.block_on(committee::run(command)),
        Command::Mixer(command) => runtime.block_on(mixer::run(command)),
        Command::Stats(command) => runtime.block_on(stats::run(command)),
        Command::Graph(command) => runtime.block_on(graph::run(command)),
        Command::Decide(command) => runtime.block_on(decide::run(command)),
        Command::Room(command) => runtime.block_on(room::run(command)),
        Command::Host(command) => runtime.block_on(host::run(command)),
        Command::Say(options) => runtime.block_on(say::run(options)),
        Command::Chat(command) => runtime.block_on(chat::run(command)),
        Command::Watch(options) => runtime.block_on(watch::run(options)),
        Command::Export(options) => runtime.block_on(export::run(options)),
        Command::Demo(command) => runtime.block_on(demo::run(command)),
    };
    // Threads that wait for a terminal's input would hold up the end.
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    /// Every command line that takes such an argument, with this value for it.
    fn lines(
        command: &clap::Command,
        words: &[String],
        is_such: &dyn Fn(&[String], &str) -> bool,
        value: &str,
    ) -> Vec<Vec<String>> {
        let line = |arg: &clap::Arg| {
            let option = arg.get_long().map(|name| format!("--{name}"));
            words.iter().cloned().chain(option).chain([value.to_owned()]).collect()
        };
        let such = |arg: &&clap::Arg| is_such(words, arg.get_id().as_str());
        let mut found: Vec<Vec<String>> = command.get_arguments().filter(such).map(line).collect();
        for sub in command.get_subcommands() {
            let words = [words, &[sub.get_name().to_owned()]].concat();
            found.extend(lines(sub, &words, is_such, value));
        }
        found
    }

    fn is_link(words: &[String], argument: &str) -> bool {
        match argument {
            "link" | "join" => true,
            "room" => words.contains(&"chat".to_owned()),
            _ => false,
        }
    }

    /// Whether a command line is refused because of a file that is not there: it was looked for.
    fn looks_for_a_file(line: &[impl AsRef<str>]) -> Result<(), String> {
        let Err(error) = Cli::try_parse_from(line.iter().map(AsRef::as_ref)) else {
            return Err("there is nothing in it".into());
        };
        let says = error.to_string();
        let looked = error.kind() == ErrorKind::ValueValidation && says.contains("nowhere/link: ");
        if looked { Ok(()) } else { Err(says) }
    }

    #[test]
    fn every_link_can_come_from_a_file_or_standard_input() {
        let own = ["ostrakon".to_owned()];
        let lines = lines(&Cli::command(), &own, &is_link, "@/nowhere/link");
        assert!(lines.len() > 30, "links are called so: {lines:?}");
        for line in lines {
            let looked = looks_for_a_file(&line);
            assert!(looked.is_ok(), "{line:?}: {looked:?}");
        }
    }

    #[test]
    fn an_address_without_its_scheme_is_told_and_not_that_nobody_answers() {
        let is_server = |_: &[String], argument: &str| argument == "server";
        for address in ["127.0.0.1:7100", "localhost:7100", "ftp://localhost"] {
            let lines = lines(&Cli::command(), &["ostrakon".to_owned()], &is_server, address);
            assert!(lines.len() >= 8, "servers are called so: {lines:?}");
            for line in lines {
                let error = Cli::try_parse_from(&line).err().expect("it is no address");
                let says = error.to_string();
                assert!(says.contains("reads https://HOST[:PORT]"), "{line:?}: {says}");
            }
        }
    }

    /// What people say goes by `-` or a file, too, and lists of edges and things are files.
    #[test]
    fn every_answer_can_come_from_a_file_or_standard_input() {
        let decision = format!("http://a/#/decision/{}/{}", "0".repeat(32), "0".repeat(64));
        let asked = format!("http://a/#/ask/{}/{}", "0".repeat(64), "0".repeat(64));
        let file = "@/nowhere/link";
        for line in [
            &["decide", "answer", &decision, "--answer", file][..],
            &["decide", "answer", &decision, "--answer", "yes", "--answer", file],
            &["stats", "report", &asked, file],
            &["stats", "report", &asked, "7", "--group", file],
        ] {
            let looked = looks_for_a_file(&[&["ostrakon"], line].concat());
            assert!(looked.is_ok(), "{line:?}: {looked:?}");
        }
    }
}
