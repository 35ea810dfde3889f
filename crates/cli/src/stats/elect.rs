//! `ostrakon stats create --committee FILE`: who of many operators forms a committee.

use std::path::Path;

use anyhow::{Context, Result};
use ostrakon_computation::election::{Beacon, Operator, Strength, Table};
use serde::Serialize;

use super::create::digest;
use crate::output;

/// Options of an election.
#[derive(clap::Args)]
#[group(id = "election")]
pub struct Options {
    /// With a file: 32 bytes in hexadecimal that nobody knew when the table was fixed, for example
    /// a round of a public beacon. Without it the table's digest is printed, on which all agree
    /// before.
    #[arg(long, value_name = "HEX", value_parser = digest)]
    beacon: Option<ostrakon_crypto::Digest>,
    /// With a file: how many operators are drawn.
    #[arg(long, value_name = "COUNT", default_value_t = 26)]
    members: usize,
    /// With a file: the part of all weight that may be corrupt. One corrupt operator makes all the
    /// weight of its family count.
    #[arg(long, value_name = "PART", default_value_t = 0.25)]
    corrupt: f64,
    /// With a file: how many contributions to the beacon may be withheld.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    withheld: u32,
    /// With a file: a committee without an honest member is refused unless it is rarer than
    /// 2^-BITS.
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    security: u32,
}

#[derive(Serialize)]
struct Proposed<'a> {
    table: String,
    operators: usize,
    families: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_log2: Option<f64>,
    members: Vec<&'a str>,
}

/// Proposes a committee.
///
/// # Errors
/// If the file is no table, with the line; if the committee would be too weak.
pub fn run(path: &Path, options: &Options, json: bool) -> Result<()> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    let table = Table::parse(&text).with_context(|| name.to_string())?;
    let Options { beacon, members, corrupt, withheld, security } = *options;
    let engine = ostrakon_stats::security(members);
    let strength = Strength { members, corrupt, withheld, elections: 1, security, engine };
    strength.check().context("--members")?;
    let drawn = match beacon {
        None => Vec::new(),
        Some(beacon) => {
            table.draw(&Beacon(beacon.0), &strength).with_context(|| name.to_string())?
        }
    };
    show(&table, &drawn, beacon.map(|_| strength), json)
}

fn show(table: &Table, drawn: &[&Operator], asked: Option<Strength>, json: bool) -> Result<()> {
    let (operators, families) = (table.operators().len(), table.families());
    let digest = table.digest().to_hex();
    if json {
        let members = drawn.iter().map(|operator| operator.id.as_str()).collect();
        let (table, bound_log2) = (digest, asked.map(|strength| strength.log2()));
        return output::json(&Proposed { table, operators, families, bound_log2, members });
    }
    output::line(&format!("table {digest}: {operators} operators, {families} families"))?;
    let Some(strength) = asked else {
        eprintln!(
            "All who rely on the committee compare this digest first. Then give --beacon, which \
             nobody knew before."
        );
        return Ok(());
    };
    for operator in drawn {
        let Operator { id, name, weight, .. } = operator;
        let id = if id == name { String::new() } else { format!(" ({id})") };
        output::line(&format!("{name}{id}, weight {weight}"))?;
    }
    let (bound, corrupt) = (strength.log2(), strength.corrupt);
    output::line(&format!(
        "the probability that none of them is honest is at most 2^{bound:.1}, if families in which \
         anybody is corrupt have at most {corrupt} of all weight"
    ))?;
    eprintln!("They found it: each runs `ostrakon committee init`, one of them `committee found`.");
    Ok(())
}
