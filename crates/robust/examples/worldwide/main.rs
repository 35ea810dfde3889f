//! AsynchroMix among servers around the world, in virtual time: the crate's own state machines,
//! with the latencies and bandwidths that the authors of the paper measured between regions.
//!
//! ```sh
//! cargo xtask worldwide
//! ```
//!
//! Stock comes from a dealer, which nothing but a simulation may have. A server has one core, and
//! what it does takes as long as it takes this machine, without the time in which others had the
//! core. Messages take their latency, and wait for the sender's line and for the link; the
//! protocols under them (TCP's slow start, TLS) are not simulated. All servers begin at once.

mod dealer;
mod meter;
mod mix;
mod network;
mod regions;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use crate::meter::Meter;
use crate::mix::{Mix, Plan, Ran};
use crate::network::Processor;
use crate::regions::Map;

#[derive(Parser)]
#[command(name = "cargo xtask worldwide", about = "Simulates mixes among servers around the world")]
struct Arguments {
    /// Servers: 4, 10, 16, 50 or 100, which the paper placed.
    #[arg(long, default_value_t = 100)]
    servers: usize,
    /// Messages of a PowerMix; 0 for none.
    #[arg(long, value_delimiter = ',', default_value = "64,256,512")]
    powermix: Vec<usize>,
    /// Messages of a switching network, powers of two; 0 for none.
    #[arg(long, value_delimiter = ',', default_value = "64,512,4096")]
    network: Vec<usize>,
    /// Servers that never say anything.
    #[arg(long, default_value_t = 0)]
    dead: usize,
    /// Leaves out what servers compute: the network's delay alone.
    #[arg(long, conflicts_with = "only_computing")]
    only_delay: bool,
    /// Leaves out the network's delay alone.
    #[arg(long)]
    only_computing: bool,
    /// Prints what was simulated as JSON, not as a table.
    #[arg(long)]
    json: bool,
    /// Earlier runs, as `--json` prints them, which are shown along.
    #[arg(long = "with", value_name = "FILE")]
    earlier: Vec<PathBuf>,
    /// Where the plot is written.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut runs = Vec::new();
    for file in &arguments.earlier {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let earlier: Vec<Ran> = serde_json::from_str(&text)
            .with_context(|| format!("{} is not of an earlier run", file.display()))?;
        runs.extend(earlier);
    }
    runs.extend(simulate(&arguments)?);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&runs)?);
    } else {
        print!("{}", report::table(&runs));
    }
    if let Some(file) = &arguments.plot {
        std::fs::write(file, report::plot(&runs))
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

fn simulate(arguments: &Arguments) -> Result<Vec<Ran>> {
    let servers = arguments.servers;
    let map = Map::of(servers).with_context(|| {
        format!("the paper placed no {servers} servers; 4, 10, 16, 50 and 100 are possible")
    })?;
    let powermix = arguments.powermix.iter().map(|messages| (Mix::Powermix, *messages));
    let network = arguments.network.iter().map(|messages| (Mix::Network, *messages));
    let mut runs = Vec::new();
    for (mix, messages) in powermix.chain(network).filter(|(_, messages)| *messages > 0) {
        let plan = Plan { mix, messages, dead: arguments.dead, seed: messages as u64 };
        let processors = [
            (!arguments.only_computing).then_some(Processor::Free),
            (!arguments.only_delay).then(|| Processor::Measured(Meter::new())),
        ];
        for mut processor in processors.into_iter().flatten() {
            let ran = mix::run(&map, &plan, &mut processor)?;
            eprintln!(
                "{mix:?} of {messages}: {:.2} s of virtual time{}",
                ran.seconds,
                if ran.computing { "" } else { ", network alone" }
            );
            runs.push(ran);
        }
    }
    Ok(runs)
}
