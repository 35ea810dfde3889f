//! `ostrakon stats create --committee FILE`: who of many operators forms a committee.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostrakon_computation::election::{Beacon, Operator, Record, Strength, Table};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::digest::digest;
use crate::output;

/// Options of an election.
#[derive(clap::Args)]
#[group(id = "drawing")]
pub struct Options {
    /// With a file: what electors have signed and opened, as `committee election finish` printed
    /// it. It is checked, and says how many are drawn; the file must be the table that they have
    /// signed.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["beacon", "members", "corrupt", "withheld", "security"]
    )]
    election: Option<PathBuf>,
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
    /// Who have signed the table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    electors: Vec<String>,
    members: Vec<&'a str>,
}

/// Proposes a committee.
///
/// # Errors
/// If the file is no table, with the line; if the committee would be too weak; if electors have not
/// signed this table, or not opened what they have committed to.
pub fn run(path: &Path, options: &Options, json: bool) -> Result<()> {
    let name = path.display();
    let table = table(path)?;
    if let Some(election) = &options.election {
        let record: Record = document(election)?;
        return agreed(&table, &record, json).with_context(|| election.display().to_string());
    }
    let Options { beacon, members, corrupt, withheld, security, .. } = *options;
    let engine = ostrakon_stats::security(members, false);
    let strength = Strength { members, corrupt, withheld, elections: 1, security, engine };
    strength.check().context("--members")?;
    let drawn = match beacon {
        None => Vec::new(),
        Some(beacon) => {
            table.draw(&Beacon(beacon.0), &strength).with_context(|| name.to_string())?
        }
    };
    let corrupt = strength.corrupt;
    show(&table, (&drawn, beacon.map(|_| (strength.log2(), corrupt))), &[], json)
}

/// Proposes whom the electors' beacon draws.
fn agreed(table: &Table, record: &Record, json: bool) -> Result<()> {
    let plan = &record.agreement.plan;
    let engine = ostrakon_stats::security(plan.members, false);
    let drawn = record.draw(table, engine)?;
    let strength = plan.check(engine)?;
    let electors: Vec<String> = plan.electors.iter().map(|elector| elector.to_hex()).collect();
    show(table, (&drawn, Some((strength.log2(), strength.corrupt))), &electors, json)
}

/// Shows who is drawn, and how likely it is that all of them are corrupt, with so large a part of
/// the weight.
fn show(
    table: &Table,
    (drawn, bound): (&[&Operator], Option<(f64, f64)>),
    electors: &[String],
    json: bool,
) -> Result<()> {
    let (operators, families) = (table.operators().len(), table.families());
    let digest = table.digest().to_hex();
    if json {
        let members = drawn.iter().map(|operator| operator.id.as_str()).collect();
        let (table, electors) = (digest, electors.to_vec());
        return output::json(&Proposed {
            table,
            operators,
            families,
            bound_log2: bound.map(|(bound, _)| bound),
            electors,
            members,
        });
    }
    output::line(&format!("table {digest}: {operators} operators, {families} families"))?;
    for elector in electors {
        output::line(&format!("signed by the elector {elector}"))?;
    }
    let Some((bound, corrupt)) = bound else {
        eprintln!(
            "All who rely on the committee compare this digest first, or sign it: ostrakon \
             committee election plan … Then give --beacon, which nobody knew before, or --election."
        );
        return Ok(());
    };
    for operator in drawn {
        let Operator { id, name, weight, .. } = operator;
        let id = if id == name { String::new() } else { format!(" ({id})") };
        output::line(&format!("{name}{id}, weight {weight}"))?;
    }
    output::line(&format!(
        "the probability that none of them is honest is at most 2^{bound:.1}, if families in which \
         anybody is corrupt have at most {corrupt} of all weight"
    ))?;
    eprintln!("They found it: each runs `ostrakon committee init`, one of them `committee found`.");
    Ok(())
}

/// What a step printed.
///
/// # Errors
/// If it cannot be read, or is something else.
pub fn document<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    serde_json::from_str(&text).with_context(|| {
        format!("{name} is not what this step needs, as `ostrakon committee election` prints it")
    })
}

/// The table in a file.
///
/// # Errors
/// If there is none, with the line.
pub fn table(path: &Path) -> Result<Table> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    Table::parse(&text).with_context(|| name.to_string())
}
