//! `ostrakon stats create`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ostrakon_crypto::Digest;
use ostrakon_party::Invitation;
use ostrakon_stats::asked::{JOB, parameters};
use ostrakon_stats::{Form, Question, Statistic};

use super::digest::digest;
use super::{elect, key, terms};
use crate::client::asking::{Asking, Who};
use crate::client::{Asked, http_client, origin};
use crate::{output, system};

/// Fewest reports of which something is told, unless another number is given.
const MINIMUM: u32 = 10;
/// Cells of a sketch of things: counts are off by at most about 0.92/√1024.
const COUNTERS: u16 = 1024;

/// Options of `stats create`.
#[derive(clap::Args)]
pub struct Options {
    /// Any one of the committee's members: scheme, host and port.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    #[arg(required_unless_present = "committee")]
    server: Option<String>,
    /// The committee's digest, if you know it from elsewhere; otherwise what the member says is
    /// believed. Or a file with operators and their weights, a Tor consensus or lines `NAME WEIGHT
    /// [FAMILY]`: then nothing is asked, and it is proposed who of them forms a committee.
    #[arg(long, value_name = "DIGEST|FILE", value_parser = chosen)]
    committee: Option<Chosen>,
    #[command(flatten)]
    election: elect::Options,
    /// What is asked: "What do you earn a month, in euros?"
    #[arg(long, value_name = "TEXT", required_unless_present = "committee")]
    question: Option<String>,
    /// What is computed, once for each: median, sum, mean, deviation, quantile:THOUSANDTHS,
    /// histogram:BINS, histogram:BOUND,BOUND,…, top:PLACES, or circuit:FILE for a circuit of your
    /// own in Bristol Fashion: with one input value it is computed of each report, and what comes
    /// out is added up; with several, of all reports and then how many they are, if the servers'
    /// operators allow it
    #[arg(long, value_name = "STATISTIC", default_value = "median")]
    statistic: Vec<String>,
    /// Everybody also says to which of these groups they belong, and everything is computed for
    /// each of them: "north,south". The names become part of the question.
    #[arg(long, value_name = "NAME,NAME…", value_delimiter = ',')]
    groups: Vec<String>,
    /// Everybody reports a list of things, and it is counted how many different ones there are in
    /// all lists together, about: within 3 % twice out of three times. Whoever names made-up things
    /// for all cells of the count but one reads that one, unless --epsilon adds noise.
    #[arg(long, conflicts_with_all = ["statistic", "groups", "largest"])]
    things: bool,
    /// The largest number that somebody could report. It is rounded up to a power of two less one,
    /// which is the limit: with 20000 numbers up to 32767 are taken, and none above.
    #[arg(long, default_value_t = 65_535)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..1 << 48))]
    largest: u64,
    /// With fewer reports nothing is computed.
    #[arg(long, default_value_t = MINIMUM)]
    minimum: u32,
    /// Makes so many links, each for one report; without, whoever has the link may report, and
    /// nobody can tell one person with two reports from two.
    #[arg(long, value_name = "COUNT")]
    invitations: Option<usize>,
    /// Whoever has one of the keys in this file may report, once each: a key a line, as `stats key`
    /// prints it, and after it whatever you like.
    #[arg(long, value_name = "FILE", conflicts_with = "invitations")]
    roster: Option<PathBuf>,
    /// Closes by itself after so many seconds; otherwise `stats close` does.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Adds noise for differential privacy: the budget ε of the whole question, for example 0.5.
    #[arg(long, value_name = "EPSILON")]
    epsilon: Option<f64>,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// What `--committee` names.
#[derive(Clone)]
enum Chosen {
    Digest(Digest),
    File(PathBuf),
}

fn chosen(text: &str) -> Result<Chosen, String> {
    match digest(text) {
        Ok(digest) => Ok(Chosen::Digest(digest)),
        Err(_) if Path::new(text).is_file() => Ok(Chosen::File(text.into())),
        Err(why) => Err(format!("it is no file, and {why}")),
    }
}

/// Runs the command.
///
/// # Errors
/// If the question cannot be asked, or a member refuses it or does not answer.
pub async fn run(options: Options) -> Result<()> {
    let committee = match &options.committee {
        Some(Chosen::File(path)) => return elect::run(path, &options.election, options.json),
        Some(Chosen::Digest(digest)) => Some(digest),
        None => None,
    };
    let question = question(&options)?;
    terms::cautions(&question).into_iter().for_each(|caution| eprintln!("{caution}"));
    let server = options.server.as_deref().context("--server: any one of the members")?;
    let asked = Asked::open(&http_client()?, server, committee).await?;
    ostrakon_stats::asked::members(&asked.committee)?;
    let asking = Asking {
        server,
        job: JOB,
        parameters: parameters(&question),
        title: question.text.clone(),
        minimum: options.minimum,
        who: match (&options.roster, options.invitations) {
            (Some(path), _) => Who::Keys(key::roster(path)?),
            (None, Some(count)) => Who::Invited(count),
            (None, None) => Who::Anyone,
        },
        seconds: options.seconds,
    };
    let created = asking.ask(&asked, &Invitation(system::random())).await?;
    if options.json {
        return output::json(&created);
    }
    created.print()?;
    eprintln!(
        "{}",
        match (&options.roster, created.invitations.is_empty()) {
            (Some(_), _) => "Whoever has a key of the roster reports by this link.",
            (None, true) =>
                "Whoever has this link reports by it, in a browser or by `stats report`.",
            (None, false) =>
                "The first link shows the question; each of the others lets one person report.",
        }
    );
    eprintln!(
        "{} keeps the key that closes: ostrakon stats close '{}'",
        created.kept.display(),
        created.link
    );
    Ok(())
}

/// What a report says, and what is computed of all.
fn terms_of(options: &Options) -> Result<(Form, Vec<Statistic>)> {
    if options.things {
        return Ok((Form::Items { counters: COUNTERS }, vec![Statistic::Distinct]));
    }
    let statistics = options.statistic.iter().map(|text| terms::statistic(text, options.largest));
    let statistics = statistics.collect::<Result<_>>().context("--statistic")?;
    let form = match (Form::number_up_to(options.largest), options.groups.len()) {
        (number, 0) => number,
        (Form::Number { width }, groups) => {
            Form::Grouped { width, groups: u16::try_from(groups).context("--groups")? }
        }
        (other, _) => other,
    };
    Ok((form, statistics))
}

/// The question in words, with the groups' numbers.
fn words(options: &Options) -> Result<String> {
    let text = options.question.clone().context("--question: what is asked")?;
    if options.groups.is_empty() {
        return Ok(text);
    }
    let numbered = (0..).zip(&options.groups).map(|(i, name)| format!("{i} = {}", name.trim()));
    Ok(format!("{text} ({})", numbered.collect::<Vec<_>>().join(", ")))
}

fn question(options: &Options) -> Result<Question> {
    let (form, statistics) = terms_of(options)?;
    let epsilon = options.epsilon.map(|epsilon| {
        ensure!((0.001..=1000.0).contains(&epsilon), "--epsilon must be from 0.001 to 1000");
        Ok(format!("{:.0}", epsilon * 1000.0).parse()?)
    });
    let question = Question {
        text: words(options)?,
        form,
        minimum: options.minimum,
        statistics,
        epsilon: epsilon.transpose()?,
    };
    question.validate().context("--statistic")?;
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        options: Options,
    }

    fn asked(more: &[&str]) -> Result<Question> {
        let server = ["create", "--server", "http://m", "--question", "What do you earn?"];
        question(&Program::try_parse_from([&server[..], more].concat())?.options)
    }

    #[test]
    fn groups_are_named_in_the_question_and_lists_are_counted() {
        let grouped = asked(&["--groups", "north, south,west", "--largest", "1000"]).unwrap();
        assert_eq!(grouped.form, Form::Grouped { width: 10, groups: 3 });
        assert_eq!(grouped.text, "What do you earn? (0 = north, 1 = south, 2 = west)");
        let things = asked(&["--things"]).unwrap();
        assert_eq!(things.form, Form::Items { counters: COUNTERS });
        assert_eq!(things.statistics, [Statistic::Distinct]);
        assert!(asked(&["--things", "--groups", "a,b"]).is_err());
        assert!(asked(&["--groups", "alone"]).is_err(), "one group is none");
        let warned = |more: &[&str]| terms::cautions(&asked(more).unwrap()).len();
        assert_eq!((warned(&[]), warned(&["--things"])), (0, 1));
        assert_eq!((warned(&["--epsilon", "1"]), warned(&["--things", "--epsilon", "1"])), (1, 0));
        assert_eq!(warned(&["--epsilon", "1", "--minimum", "1000"]), 0);
        assert_eq!(warned(&["--epsilon", "1", "--statistic", "sum"]), 0);
        let several = asked(&["--statistic", "median", "--statistic", "quantile:900"]).unwrap();
        assert_eq!(several.statistics, [Statistic::Quantile(500), Statistic::Quantile(900)]);
    }

    #[test]
    fn a_circuit_is_read_from_a_file_and_what_is_wrong_with_it_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("odd.txt");
        // Whether a number of four bits is odd.
        std::fs::write(&path, "1 5\n1 4\n1 1\n\n1 1 0 4 EQW\n").unwrap();
        let statistic = format!("circuit:{}", path.display());
        let asked = |largest| asked(&["--statistic", &statistic, "--largest", largest]);
        assert!(matches!(asked("15").unwrap().statistics[..], [Statistic::Circuit(_)]));
        let wide = format!("{:#}", asked("31").unwrap_err());
        assert!(wide.contains("numbers of 4 bits, and reports have 5"), "{wide}");
        std::fs::write(&path, "1 5\n1 4\n1 1\n\n1 1 9 4 EQW\n").unwrap();
        let wrong = format!("{:#}", asked("15").unwrap_err());
        assert!(wrong.contains("line 5"), "{wrong}");
    }
}
