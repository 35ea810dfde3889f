//! `ostrakon graph contribute`.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_computation::{Contributors, Draft, Link};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_graph::asked::{self, Keep, Program, Shown, Terms};
use ostrakon_graph::edges::{Names, Reading};
use ostrakon_graph::owner::Edge;
use serde::Serialize;

use super::names;
use crate::client::survey;
use crate::client::{Asked, http_client};
use crate::{output, secret, system};

/// How much of a file is read at a time.
const PIECE: usize = 1 << 16;

/// Options of `graph contribute`.
#[derive(clap::Args)]
pub struct Options {
    /// The link that was sent to you, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Your edges: two names on each line, separated by a comma, a tab or spaces. No edge leaves
    /// this program; what does is worth something only where all three servers put it together.
    edges: PathBuf,
    /// The vertices' names, if whoever asked has given you a file of them.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Where the contribution is kept until all members have it, and afterwards as a proof
    /// [default: a file for each link in the state directory of `ostrakon`]
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Contributes although the values of so few contributors' vertices may show your edges.
    #[arg(long)]
    yes: bool,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Contributed {
    edges: Option<usize>,
    bytes: usize,
    servers: usize,
    kept: String,
}

/// Runs the command.
///
/// # Errors
/// If the file has a bad line, or a member refuses the contribution or does not answer.
pub async fn run(options: Options) -> Result<()> {
    let Options { link, edges: file, names, keep, yes, json } = options;
    let asked = Asked::of(&http_client()?, &link).await?;
    let draft = asked.draft(&link.computation).await?;
    let path = match keep {
        Some(path) => path,
        None => survey::directory("contributed")?.join(survey::file_name(&link)),
    };
    let servers = asked.committee.members.len();
    let (made, edges) = match survey::handed_in(&path, servers)? {
        Some(made) => {
            eprintln!("handing in again what was kept; the file given now is not looked at");
            (made, None)
        }
        None => {
            let terms = asked::terms(&draft)?;
            consider(&draft, &terms, yes)?;
            let names = self::names::of(&terms, names.as_deref())?;
            let edges = read(&file, &names, &terms)?;
            let own = sign(&asked, &draft, &terms, &link, &edges)?;
            // Whatever happens from here on, the same bytes go to all members.
            let made = survey::keep_first(&path, own.clone(), servers)?;
            let count = (made == own).then_some(edges.len());
            (made, count)
        }
    };
    let survey::Made { input, announced } = &made;
    let bytes = input.body.len();
    let text = format!("sending {} to each of {servers} servers, kB:", output::size(bytes as u64));
    let bar = output::bar(servers * bytes / 1000, text);
    let held = RefCell::new(vec![0; servers]);
    let tell = |member: usize, bytes: u64| {
        held.borrow_mut()[member] = bytes;
        bar.set_position(held.borrow().iter().sum::<u64>() / 1000);
    };
    let receipts = asked
        .hand_in(&link.computation, (input, &announced[..]), tell)
        .await
        .map_err(|error| survey::untaken(error, &path))?;
    bar.finish_and_clear();
    survey::keep_input(&path, &made, receipts)?;
    if json {
        let kept = path.display().to_string();
        return output::json(&Contributed { edges, bytes, servers, kept });
    }
    let what = match edges {
        None => "it was".to_owned(),
        Some(1) => "1 edge was".to_owned(),
        Some(edges) => format!("{edges} edges were"),
    };
    output::line(&format!(
        "contributed: {what} handed in, and all {servers} servers have signed that they hold it"
    ))
}

/// Tells what the edges are for before they leave.
fn consider(draft: &Draft, terms: &Terms, yes: bool) -> Result<()> {
    let who = match &draft.contributors {
        Contributors::Anyone => "anyone who has the link".to_owned(),
        Contributors::Keys(keys) => format!("{} invited people", keys.len()),
        Contributors::Earlier(_) => "nobody anew".to_owned(),
    };
    let (vertices, minimum) = (terms.vertices, draft.minimum);
    let what = format!(
        "of at least {minimum} contributors, {}: {} of {vertices} vertices; shown: {}\n{who} may \
         contribute; {}",
        exactly(terms),
        program(&terms.program),
        shown(terms),
        kept(terms.keep)
    );
    // Counts say of nobody's vertex which value is its.
    let own = (terms.shown != Shown::Counts).then_some("of your edges alone");
    survey::consider(&survey::Proposal { title: &draft.title, what: &what, minimum, own }, yes)
}

/// What becomes of contributions afterwards.
fn kept(keep: Option<Keep>) -> String {
    match keep {
        None => "what is contributed is erased when the result is there".to_owned(),
        Some(Keep { questions, days }) => format!(
            "the servers keep what is contributed, and who asks may ask up to {questions} more \
             questions about it within {days} days, whatever can be asked of such edges; then it \
             is erased"
        ),
    }
}

/// How exact it is.
fn exactly(terms: &Terms) -> String {
    terms.noise.map_or("exactly".to_owned(), |noise| {
        let epsilon = f64::from(noise.epsilon) / 1000.0;
        format!("with noise that hides any one edge (epsilon {epsilon})")
    })
}

/// Where it begins.
fn given(from: &[u32]) -> String {
    output::counted(from.len(), "given one", "given ones")
}

fn program(program: &Program) -> String {
    match program {
        Program::Reach { from, hops } => {
            format!("which are within {hops} hops of {},", given(from))
        }
        Program::Edges => "how many edges there are, in a graph".to_owned(),
        Program::Pagerank { damping, hops } => {
            format!("PageRank, damping 0.{damping:03}, after {hops} steps,")
        }
        Program::Distances { from, hops, processors } => {
            let how = processors.map_or(String::new(), |processors| {
                format!(" by scatter and gather with {processors} processors,")
            });
            format!("distances from {}, up to {hops} hops,{how}", given(from))
        }
        Program::Shortest { from, within, longest } => format!(
            "how long the shortest ways from {} are, up to {within}, of edges up to {longest} \
             long,",
            given(from)
        ),
        Program::Components { hops } => {
            format!("which hang together, as far as {hops} hops lead,")
        }
        Program::InDegrees => "how many edges lead to each".to_owned(),
        Program::OutDegrees => "how many edges lead from each".to_owned(),
        Program::Katz { base, hops } => {
            format!("Katz centrality, attenuation {base}, up to {hops} hops,")
        }
    }
}

fn shown(terms: &Terms) -> String {
    match terms.shown {
        _ if terms.program == Program::Edges => "that number".to_owned(),
        Shown::Vertices => "the value of every vertex".to_owned(),
        Shown::Counts => "how many vertices have which value, not which ones".to_owned(),
        Shown::Top(count) => format!("the {count} highest values, with the vertex"),
        Shown::AtLeast(threshold) => format!("the values of {threshold} and more, with the vertex"),
    }
}

/// Reads the edges, piece by piece; tells every bad line, up to some.
fn read(path: &Path, names: &Names, terms: &Terms) -> Result<Vec<Edge>> {
    let name = path.display();
    let mut file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    let length = usize::try_from(file.metadata().map_or(0, |of| of.len())).unwrap_or(0);
    let bar = output::bar(length, "reading edges");
    let mut reading = Reading::of(terms.program.third(terms.weighted));
    let (mut piece, mut rest) = (vec![0; PIECE], Vec::new());
    loop {
        let count = file.read(&mut piece).with_context(|| format!("{name} cannot be read"))?;
        if count == 0 {
            break;
        }
        bar.inc(count as u64);
        rest.extend_from_slice(&piece[..count]);
        let whole = match std::str::from_utf8(&rest) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => bail!("{name} is no text: the file must be UTF-8"),
        };
        let text = std::str::from_utf8(&rest[..whole]).expect("checked above");
        reading.take(names, text);
        rest.drain(..whole);
        // A file that is much too long is not read to its end.
        ensure!(
            reading.len() <= terms.edges as usize,
            "{name} has more than the {} edges that one contributor may have",
            terms.edges
        );
    }
    bar.finish_and_clear();
    ensure!(rest.is_empty(), "{name} is no text: the file must be UTF-8");
    let wrong = reading.wrong();
    let (edges, errors) = reading.end(names);
    if !errors.is_empty() {
        let told: Vec<String> = errors.iter().map(|error| format!("{name}, {error}")).collect();
        let more = wrong.max(errors.len()) - errors.len();
        let more =
            if more > 0 { format!("\n… and {more} more bad lines") } else { String::new() };
        bail!("nothing was handed in:\n{}{more}", told.join("\n"));
    }
    ensure!(!edges.is_empty(), "{name} has no edges");
    Ok(edges)
}

fn sign(
    asked: &Asked,
    draft: &Draft,
    terms: &Terms,
    link: &Link,
    edges: &[Edge],
) -> Result<survey::Made> {
    let key = match &link.invitation {
        Some(invitation) => invitation.key(),
        None => SigningKey::from_seed(&system::random()),
    };
    ensure!(
        draft.admits(&key.verifying_key()),
        "only invited people may contribute; use the link that was sent to you"
    );
    let members = asked::members(&asked.committee)?;
    let randomness = Secret::new(system::random());
    let input = asked::make(&link.computation, terms, &members, edges, &key, &randomness)?;
    let announced = asked.announce(&link.computation, &input, &key);
    Ok(survey::Made { input, announced })
}
