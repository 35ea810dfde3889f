//! `ostrakon graph run`, `ostrakon graph result` and `ostrakon graph verify`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostrakon_computation::{Archive, Conclusion, Link, Order};
use ostrakon_graph::asked::Shown::Top;
use ostrakon_graph::asked::{self, GraphResult, Program, Terms, Values};
use ostrakon_graph::edges::Names;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::names;
use crate::client::computation::words;
use crate::client::survey::Survey;
use crate::client::{Asked, http_client};
use crate::{failure, output, secret};

/// Bars of a histogram at most; wider ones where there are more values.
const BARS: u64 = 20;

/// Options of `graph result`.
#[derive(clap::Args)]
pub struct Options {
    /// The link, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Does not wait if there is no result yet.
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    shown: ShownOptions,
}

/// Options of `graph run`.
#[derive(clap::Args)]
pub struct RunOptions {
    /// The link that `create` printed, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Closes also if fewer have contributed than the minimum: then nothing is computed.
    #[arg(long)]
    even_if_few: bool,
    #[command(flatten)]
    shown: ShownOptions,
}

/// How a result is shown.
#[derive(clap::Args)]
struct ShownOptions {
    /// Keeps the result with everything that proves it, for `graph verify`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The vertices' names, if they stand in a file.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// How many vertices with the highest values are printed.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Prints one JSON object with all values.
    #[arg(long)]
    json: bool,
}

/// Options of `graph verify`.
#[derive(clap::Args)]
pub struct VerifyOptions {
    /// What `graph result --out` wrote.
    archive: PathBuf,
    /// The link, or `-` or `@FILE`: whose result it must be. Without it, the committee and the
    /// draft that the file names are believed.
    #[arg(long, value_parser = secret::link::<Link>)]
    link: Option<Link>,
    /// The vertices' names, if they stand in a file.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs `graph run`.
///
/// # Errors
/// If it was not asked here, too few have contributed, or there is no result.
pub async fn run_now(options: RunOptions) -> Result<()> {
    let creator = Survey::creator_of(&options.link)?;
    let asked = Asked::of(&http_client()?, &options.link).await?;
    let order = Order::sign(options.link.computation, &creator);
    asked.close(&order, options.even_if_few).await?;
    wait(&asked, &options.link, true, &options.shown).await
}

/// Runs `graph result`.
///
/// # Errors
/// If there is no result, or it proves nothing.
pub async fn run(options: Options) -> Result<()> {
    let asked = Asked::of(&http_client()?, &options.link).await?;
    wait(&asked, &options.link, !options.now, &options.shown).await
}

async fn wait(asked: &Asked, link: &Link, wait: bool, shown: &ShownOptions) -> Result<()> {
    let spinner = output::spinner("asking the servers");
    let tell = |view: &_| spinner.set_message(words(view));
    let result = asked.result(&link.computation, wait, tell).await;
    spinner.finish_and_clear();
    let (archive, _) = result?;
    if let Some(path) = &shown.out {
        std::fs::write(path, serde_json::to_string(&archive)?)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    show(&archive, shown.names.as_deref(), shown.top, shown.json)
}

/// Runs `graph verify`.
///
/// # Errors
/// If the archive proves nothing.
pub fn verify(options: &VerifyOptions) -> Result<()> {
    let path = options.archive.display();
    let text = std::fs::read_to_string(&options.archive)
        .with_context(|| format!("{path} cannot be read"))?;
    let archive: Archive = serde_json::from_str(&text)
        .map_err(|error| failure::unproven(format!("{path} is no archive of a result: {error}")))?;
    let verified = match &options.link {
        Some(link) => archive.verify_as(&link.computation, &link.committee),
        None => archive.verify(),
    };
    verified.map_err(|error| failure::unproven(error.to_string()))?;
    show(&archive, options.names.as_deref(), 10, options.json)?;
    if !options.json {
        let names: Vec<&str> =
            archive.committee.members.iter().map(|member| member.name.as_str()).collect();
        output::line(&format!("signed by all members: {}", names.join(", ")))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Summary<'a> {
    title: &'a str,
    contributors: u64,
    contradicting: usize,
    unsound: usize,
    excluded: usize,
    missing: u32,
    terms: &'a Terms,
    /// Whether only who asked can read the values.
    for_reader: bool,
    values: Value,
}

/// What came out, as far as it can be read here. Of what is for who asked the key is kept on the
/// device where it was asked.
fn read(archive: &Archive, terms: &Terms) -> Result<Option<GraphResult>> {
    let Some(result) = asked::result(archive)? else { return Ok(None) };
    let computation = archive.computation();
    let (true, Some(creator)) = (terms.reader.is_some(), Survey::secret_of(&computation)?) else {
        return Ok(Some(result));
    };
    let key = asked::reader(&creator.0);
    let opened = result.values.opened(&computation, terms, &key);
    let (values, liars) = opened.map_err(|error| failure::unproven(error.to_string()))?;
    for liar in liars {
        eprintln!(
            "{} lies: what it has sealed for you is not what it has signed for. The result is \
             right nevertheless, of what the others have sealed.",
            archive.committee.members[liar].name
        );
    }
    Ok(Some(GraphResult { values, ..result }))
}

fn show(archive: &Archive, file: Option<&Path>, top: usize, json: bool) -> Result<()> {
    let draft = &archive.draft.draft;
    let terms = asked::terms(draft)?;
    let result = read(archive, &terms)?;
    let names = names::for_result(&terms, file)?;
    let missing = match archive.conclusion {
        Conclusion::TooFew { missing } => missing,
        Conclusion::Reached(_) => 0,
    };
    let held = archive.seal.inputs.len() as u64;
    let contributors = result.as_ref().map_or(held, |result| result.accepted);
    let (contradicting, unsound) = (archive.seal.conflicts.len(), archive.seal.unsound.len());
    let excluded = result.as_ref().map_or(0, |result| result.excluded.len());
    if json {
        let values = result.as_ref().map_or(Value::Null, |result| of_names(result, &names));
        let (title, terms) = (&draft.title, &terms);
        return output::json(&Summary {
            title,
            contributors,
            contradicting,
            unsound,
            excluded,
            missing,
            terms,
            for_reader: terms.reader.is_some(),
            values,
        });
    }
    output::line(&draft.title)?;
    let Some(result) = result else {
        return output::line(&format!(
            "{contributors} contributors; {missing} more would have been needed, so nothing was computed"
        ));
    };
    match &result.values {
        Values::Closed(_) => output::line(
            "What came out is for who asked alone, on the device where it was asked; the servers \
             have signed it without being able to read it.",
        )?,
        values => print(&terms, values, &names, top)?,
    }
    let out = contradicting + unsound + excluded;
    let besides = if out > 0 { format!(", and {out} that did not count") } else { String::new() };
    output::line(&format!(
        "{} vertices, edges of {contributors} contributors{besides}, of which no server has seen one",
        terms.vertices
    ))
}

/// Values by name; counts by value.
fn of_names(result: &GraphResult, names: &Names) -> Value {
    match &result.values {
        Values::Vertices(values) => {
            let named = names.list().into_iter().zip(values.iter().map(|value| json!(value)));
            Value::Object(named.collect::<Map<_, _>>())
        }
        Values::Counts(counts) => counts
            .iter()
            .map(|(value, count)| json!({ "value": value, "vertices": count }))
            .collect(),
        Values::Total(total) => json!(total),
        Values::Closed(_) => Value::Null,
    }
}

/// A value as people read it: ranks are parts of all.
fn told(terms: &Terms, value: u64) -> String {
    match terms.program {
        Program::Pagerank { .. } => format!("{:.6}", value as f64 / (1u64 << 30) as f64),
        Program::Distances { .. } => hops(value),
        Program::Reach { hops, .. } => format!("within {hops}"),
        Program::Shortest { .. } => format!("{value} long"),
        _ => value.to_string(),
    }
}

/// A distance in words.
pub fn hops(count: u64) -> String {
    if count == 1 { "1 hop".to_owned() } else { format!("{count} hops") }
}

/// Prints a result: a histogram, and where vertices are shown those with the highest values, or the
/// nearest.
fn print(terms: &Terms, values: &Values, names: &Names, top: usize) -> Result<()> {
    if let Values::Total(total) = values {
        output::line(&format!("{total} edges"))?;
    } else if !matches!((&terms.program, terms.shown), (Program::Pagerank { .. }, _) | (_, Top(_)))
    {
        output::bars(&rows(terms, &values.pictured(&terms.program)))?;
    }
    if let Some(noise) = terms.noise {
        output::line(&format!(
            "with noise that hides any one edge: epsilon {}",
            f64::from(noise.epsilon) / 1000.0
        ))?;
    }
    let list = names.list();
    if let Program::Components { .. } = terms.program {
        return values.components().into_iter().take(top).try_for_each(|(smallest, size)| {
            let name = list.get(smallest).map_or("", String::as_str);
            output::line(&format!("{size:>8}  with {name}"))
        });
    }
    let Values::Vertices(values) = values else { return Ok(()) };
    let mut order: Vec<usize> = (0..values.len()).filter(|v| values[*v].is_some()).collect();
    order.sort_by_key(|vertex| values[*vertex]);
    if terms.program.from().is_empty() {
        order.sort_by_key(|vertex| std::cmp::Reverse(values[*vertex]));
    }
    for vertex in order.iter().take(top) {
        let value = told(terms, values[*vertex].unwrap_or(0));
        output::line(&format!("{value:>8}  {}", list[*vertex]))?;
    }
    if order.len() > top {
        eprintln!("… and {} more, which --json prints", order.len() - top);
    }
    Ok(())
}

/// The bars of a histogram.
pub fn rows(terms: &Terms, counts: &[(Option<u64>, u64)]) -> Vec<(String, u64)> {
    let none = match (&terms.program, terms.shown) {
        (Program::Components { hops }, _) => format!("vertices not within {hops} hops"),
        (program, _) if !program.from().is_empty() => {
            format!("not within {}", program.asked_hops())
        }
        (_, asked::Shown::AtLeast(threshold)) => format!("below {threshold}"),
        _ => "none".to_owned(),
    };
    let known = counts.iter().filter_map(|(value, count)| Some((((*value)?), *count)));
    let largest = known.clone().map(|(value, _)| value).max().unwrap_or(0);
    let width = if terms.noise.is_some() { 1 } else { (largest / BARS + 1).max(1) };
    let mut rows = std::collections::BTreeMap::<u64, u64>::new();
    known.for_each(|(value, count)| *rows.entry(value / width).or_default() += count);
    let name = |bin: u64| match (&terms.program, width) {
        (Program::Components { .. }, 1) => format!("of {bin} vertices"),
        (_, 1) if terms.noise.is_some_and(|noise| bin == u64::from(noise.bins)) => {
            format!("{bin} and more")
        }
        (_, 1) => told(terms, bin),
        _ => format!("{} to {}", bin * width, bin * width + width - 1),
    };
    let without = counts.iter().find(|(value, _)| value.is_none()).map(|(_, count)| (none, *count));
    rows.into_iter().map(|(bin, count)| (name(bin), count)).chain(without).collect()
}
