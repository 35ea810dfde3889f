//! Servers as processes, some of them killed in the middle of an epoch, and a complete board:
//! `cargo run -p ostrakon-mixer --example broadcast -- SERVERS [KILLED …]`.

use anyhow::{Result, ensure};
use ostrakon_mixer::demo::{self, Options};
use ostrakon_mixer::process::{self, Program};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "server") {
        return process::run();
    }
    let number = |i: usize| arguments.get(i).map(|argument| argument.parse()).transpose();
    let program = Program { path: std::env::current_exe()?, arguments: vec!["server".into()] };
    let options = Options {
        servers: number(0)?.unwrap_or(4),
        kill: (1..arguments.len())
            .filter_map(|i| number(i).transpose())
            .collect::<Result<_, _>>()?,
        lines: (0..10).map(|i| format!("line {i}").into_bytes()).collect(),
        ticks: None,
    };
    let directory = std::env::temp_dir().join(format!("broadcast-{}", std::process::id()));
    let runtime = tokio::runtime::Runtime::new()?;
    let shown = runtime.block_on(demo::run(&program, &directory, &options, |what| {
        eprintln!("{what}");
    }));
    std::fs::remove_dir_all(&directory)?;
    let shown = shown?;
    for message in shown.messages() {
        println!("{}", String::from_utf8_lossy(message));
    }
    eprintln!("{shown:?}");
    ensure!(shown.is_complete(&options.lines), "the board is not complete");
    Ok(())
}
