//! `ostrakon graph create`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::Digest;
use ostrakon_graph::asked::{
    self, JOB, Keep, Naming, Noise, Program, ReaderKey, Shown, Terms, parameters,
};
use ostrakon_graph::edges::Names;
use ostrakon_party::Invitation;

use super::names;
use crate::client::asking::{Asking, Who};
use crate::client::{Asked, http_client, origin};
use crate::graph::ProgramArg;
use crate::{output, system};

/// Options of `graph create`.
#[derive(clap::Args)]
pub struct Options {
    /// Any one of the committee's three members: scheme, host and port.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    server: String,
    /// The committee's digest, if you know it from elsewhere; otherwise what the member says is
    /// believed.
    #[arg(long, value_name = "DIGEST", value_parser = crate::stats::digest)]
    committee: Option<Digest>,
    /// What it is about, for those who contribute: "Who pays whom, first quarter"
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// How many vertices there are; they are called by their numbers from 0.
    #[arg(long, value_name = "COUNT", conflicts_with = "names")]
    vertices: Option<u32>,
    /// The vertices' names, one a line. Everybody sees them; a long list every contributor needs as
    /// a file.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// How many edges one contributor may have. Everybody sends as much as for so many, so that
    /// nobody's number is seen.
    #[arg(long, default_value_t = 10_000)]
    edges: u32,
    /// Edges lead in both directions.
    #[arg(long)]
    undirected: bool,
    /// A third field on a line says how many edges it is; each takes one of the contributor's.
    /// With `shortest` it says how long the edge is, without this option.
    #[arg(long)]
    weighted: bool,
    #[command(flatten)]
    wanted: Wanted,
    /// With fewer contributors nothing is computed.
    #[arg(long, default_value_t = 2)]
    minimum: u32,
    /// Makes so many links, each for one contributor; without, whoever has the link may contribute.
    #[arg(long, value_name = "COUNT")]
    invitations: Option<usize>,
    /// Closes by itself after so many seconds; otherwise `graph run` does.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Contributions are kept so that you can ask up to so many more questions about them (`graph
    /// again`); whoever contributes is told. Otherwise they are erased when the result is there.
    #[arg(long, value_name = "QUESTIONS")]
    keep: Option<u32>,
    /// With --keep: for so many days.
    #[arg(long, value_name = "DAYS", default_value_t = 7, requires = "keep")]
    keep_days: u32,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// What is computed, and what is shown of it.
#[derive(clap::Args)]
pub struct Wanted {
    /// What is computed.
    #[arg(long, value_enum, default_value_t = ProgramArg::Distances)]
    program: ProgramArg,
    /// Where distances are counted from, or reach begins; may be given more than once.
    #[arg(long, value_name = "NAME")]
    from: Vec<String>,
    /// Adds noise that hides whether any one edge is there, with this epsilon: for `edges`, and for
    /// counts of degrees. Otherwise what comes out is exact.
    #[arg(long, value_name = "EPSILON", value_parser = epsilon)]
    epsilon: Option<u32>,
    /// With an epsilon: degrees below this one are counted apart, all others together.
    #[arg(long, default_value_t = 16)]
    bins: u32,
    /// Shortest ways: the longest that an edge can be, up to 16. A list takes as many rows for each
    /// vertex.
    #[arg(long, value_name = "LENGTH", default_value_t = 4)]
    longest: u32,
    /// PageRank: how much of a rank follows edges, in thousandths.
    #[arg(long, default_value_t = 850)]
    damping: u32,
    /// How far is looked (distances, reach, shortest, katz), how many steps are made (pagerank), or
    /// over how many hops a component leads at most (components).
    #[arg(long, default_value_t = 6)]
    hops: u32,
    /// Distances: computed by scatter and gather with so many processors, as the paper does,
    /// instead of linear hops. It comes to the same and takes longer; show `vertices`.
    #[arg(long, value_name = "COUNT")]
    processors: Option<u32>,
    /// Katz centrality: by how much an edge further counts less. The more edges there are together,
    /// the fewer hops it can be counted over: with 10,000 edges three or four.
    #[arg(long, default_value_t = 10)]
    attenuation: u64,
    /// What is shown, and nothing else: `vertices` (each vertex's value), `counts` (how many
    /// vertices have which value, not which ones), `at-least:N` (the degrees of N and more) or
    /// `top:N` (the N vertices with the highest degrees or ranks)
    #[arg(long, default_value = "counts", value_parser = shown)]
    show: Shown,
    /// The result is for you alone: nobody else can read it, the servers included.
    #[arg(long)]
    for_me: bool,
}

/// Thousandths.
fn epsilon(text: &str) -> Result<u32, String> {
    let wrong = || "a number from 0.25 to 10".to_owned();
    let number: f64 = text.parse().map_err(|_| wrong())?;
    let fits = (0.25..=10.0).contains(&number);
    fits.then(|| (number * 1000.0).round() as u32).ok_or_else(wrong)
}

fn shown(text: &str) -> Result<Shown, String> {
    match (text, text.split_once(':')) {
        ("vertices", _) => Ok(Shown::Vertices),
        ("counts", _) => Ok(Shown::Counts),
        (_, Some(("at-least", threshold))) => {
            threshold.parse().map(Shown::AtLeast).map_err(|_| "at-least:N, as at-least:5".into())
        }
        (_, Some(("top", count))) => {
            count.parse().map(Shown::Top).map_err(|_| "top:N, as top:10".into())
        }
        _ => Err("one of vertices, counts, at-least:N, top:N".into()),
    }
}

/// Runs the command.
///
/// # Errors
/// If this cannot be asked, or a member refuses it or does not answer.
pub async fn run(options: Options) -> Result<()> {
    let creator = Invitation(system::random());
    let mut terms = terms(&options)?;
    terms.reader = options.wanted.for_me().then(|| ReaderKey(asked::reader(&creator.0).public()));
    match options.invitations {
        Some(invited) => terms.validate(invited)?,
        None => terms.validate_for_anyone(options.minimum)?,
    }
    let asked = Asked::open(&http_client()?, &options.server, options.committee.as_ref()).await?;
    asked::members(&asked.committee)?;
    let asking = Asking {
        server: &options.server,
        job: JOB,
        parameters: parameters(&terms),
        title: options.title.clone(),
        minimum: options.minimum,
        who: options.invitations.map_or(Who::Anyone, Who::Invited),
        seconds: options.seconds,
    };
    let created = asking.ask(&asked, &creator).await?;
    if options.json {
        return output::json(&created);
    }
    created.print()?;
    if !created.invitations.is_empty() {
        eprintln!(
            "The first link shows the result; each of the others lets one person contribute."
        );
    }
    if options.wanted.for_me() {
        eprintln!(
            "Only you can read the result, here: with what {} keeps. Lose it, and nobody can.",
            created.kept.display()
        );
    }
    if let (Naming::File(_), Some(path)) = (&terms.naming, &options.names) {
        eprintln!("Whoever contributes needs {} too: the list of names is long.", path.display());
    }
    eprintln!(
        "{} keeps the key that closes: ostrakon graph run '{}'",
        created.kept.display(),
        created.link
    );
    Ok(())
}

fn terms(options: &Options) -> Result<Terms> {
    let names = match (&options.vertices, &options.names) {
        (Some(vertices), None) => Names::numbers(*vertices),
        (None, Some(path)) => names::read(path).context("--names")?,
        _ => bail!("say with --vertices COUNT or --names FILE which vertices there are"),
    };
    let naming = match options.names {
        Some(_) => Naming::of(&names),
        None => Naming::Numbers,
    };
    Ok(Terms {
        vertices: u32::try_from(names.len())?,
        naming,
        edges: options.edges,
        undirected: options.undirected,
        weighted: options.weighted,
        program: options.wanted.program(&names)?,
        shown: options.wanted.shown(),
        noise: options.wanted.noise(),
        reader: None,
        keep: options.keep.map(|questions| Keep { questions, days: options.keep_days }),
    })
}

impl Wanted {
    /// What is computed of vertices of these names.
    ///
    /// # Errors
    /// If options contradict each other, or a vertex is none.
    pub fn program(&self, names: &Names) -> Result<Program> {
        let (program, hops) = (self.program, self.hops);
        let from = program.beginnings(&self.from, names, "there is no such vertex")?;
        ensure!(
            program == ProgramArg::Distances || self.processors.is_none(),
            "--processors is for distances"
        );
        Ok(match program {
            ProgramArg::Reach => Program::Reach { from, hops },
            ProgramArg::Distances => Program::Distances { from, hops, processors: self.processors },
            ProgramArg::Shortest => Program::Shortest { from, within: hops, longest: self.longest },
            ProgramArg::Components => Program::Components { hops },
            ProgramArg::Edges => Program::Edges,
            ProgramArg::InDegrees => Program::InDegrees,
            ProgramArg::OutDegrees => Program::OutDegrees,
            ProgramArg::Katz => Program::Katz { base: self.attenuation, hops },
            ProgramArg::Pagerank => Program::Pagerank { damping: self.damping, hops },
        })
    }

    /// What is shown.
    pub fn shown(&self) -> Shown {
        self.show
    }

    /// Whether only who asks can read it.
    pub fn for_me(&self) -> bool {
        self.for_me
    }

    /// The noise on it.
    pub fn noise(&self) -> Option<Noise> {
        let bins = if self.program == ProgramArg::Edges { 0 } else { self.bins };
        self.epsilon.map(|epsilon| Noise { epsilon, bins })
    }
}
