//! What is asked of the reports.

pub(crate) mod own;

use ostrakon_authbits::programs::noise;
use ostrakon_authbits::programs::sketch::Sketch;
use ostrakon_crypto::{Digest, Transcript};
use serde::{Deserialize, Serialize};

use self::own::{OwnCircuit, Reads};

/// Bits that a number may have.
pub const WIDTH: std::ops::RangeInclusive<u8> = 2..=48;
/// Bits that a number may have whose square is summed.
pub const WIDTH_OF_SQUARES: u8 = 24;
/// Groups of a question.
pub const GROUPS: std::ops::RangeInclusive<u16> = 2..=256;
/// Cells of a sketch.
pub const COUNTERS: std::ops::RangeInclusive<u16> = 16..=4096;
/// Candidates of a ranking.
pub const CANDIDATES: std::ops::RangeInclusive<u16> = 2..=1024;
/// Most statistics of one question, and most bounds of a histogram.
const MOST: usize = 64;
/// Largest scale of the noise on the sizes of groups: beyond, they would tell nothing.
const MOST_ON_SIZES: u64 = 1 << 20;
/// Most places of a ranking.
const PLACES: u8 = 32;

/// What one report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A whole number.
    Number {
        /// Its bits, within [`WIDTH`].
        width: u8,
    },
    /// A group and a whole number. Every statistic is computed for each group.
    Grouped {
        /// The number's bits, within [`WIDTH`].
        width: u8,
        /// How many groups there are.
        groups: u16,
    },
    /// Things, of which different ones are counted over all reports ([`Statistic::Distinct`]).
    Items {
        /// Cells of the sketch, a power of two: the error is at most about 0.92/√counters.
        counters: u16,
    },
}

/// Bits in which numbers up to `most` are written.
pub(crate) fn digits(most: usize) -> usize {
    (usize::BITS - most.leading_zeros()) as usize
}

impl Form {
    /// A number from 0 to `largest`, which is rounded up to a power of two less one.
    pub fn number_up_to(largest: u64) -> Self {
        let bits = u8::try_from(u64::BITS - largest.leading_zeros()).expect("at most 64");
        Form::Number { width: bits.max(*WIDTH.start()) }
    }

    /// Bits of a report.
    pub fn bits(&self) -> usize {
        match *self {
            Form::Number { width } => width.into(),
            Form::Grouped { width, .. } => usize::from(width) + self.group_digits(),
            Form::Items { counters } => sketch(counters).bits(),
        }
    }

    /// Bits of the group's number.
    pub(crate) fn group_digits(&self) -> usize {
        match *self {
            Form::Grouped { groups, .. } => digits(usize::from(groups.saturating_sub(1))),
            _ => 0,
        }
    }

    /// Bits of the number.
    pub(crate) fn width(&self) -> usize {
        match *self {
            Form::Number { width } | Form::Grouped { width, .. } => width.into(),
            Form::Items { .. } => 0,
        }
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> Option<usize> {
        match *self {
            Form::Grouped { groups, .. } => Some(groups.into()),
            _ => None,
        }
    }

    /// What it asks for, in words.
    pub fn asks_for(&self) -> &'static str {
        match self {
            Form::Number { .. } => "a whole number",
            Form::Grouped { .. } => "a group and a whole number",
            Form::Items { .. } => "a list of things",
        }
    }
}

/// The sketch of a number of cells: strings of 16 bits, and on 32 levels twice as many coins
/// (statistics.md, section 7).
pub(crate) fn sketch(counters: u16) -> Sketch {
    let cells = usize::from(counters);
    Sketch { cells, string: 16, levels: 32, coins: 2 * cells }
}

/// Something that is computed of all reports together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The value below which so many thousandths of all lie: the one of rank
    /// ⌊thousandths·(n − 1)/1000⌋ in ascending order. 500 is the median, of an even number the
    /// lower one in the middle.
    Quantile(u16),
    /// The sum. The mean is the sum by the number of reports, which is public.
    Sum,
    /// The sum and the sum of squares, of which the variance is made.
    Variance,
    /// How many are between bounds, which ascend strictly: a histogram.
    Histogram(Vec<u64>),
    /// The numbers that most have reported, of those below `candidates`, with how many did.
    Top {
        /// Numbers from here on count nowhere.
        candidates: u16,
        /// How many of them are told.
        places: u8,
    },
    /// How many different things all reports name together, about.
    Distinct,
    /// The output values of a circuit of the asker's own ([`Reads`]).
    Circuit(OwnCircuit),
}

/// What is asked: the same words at all servers and reporters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// In words, for whoever reports.
    pub text: String,
    /// What a report says.
    pub form: Form,
    /// With fewer reports nothing is computed; of a group with fewer nothing is told.
    pub minimum: u32,
    /// What is computed.
    pub statistics: Vec<Statistic>,
    /// Thousandths of ε for the whole question: how little the answers may depend on any one
    /// report. Without it they are exact.
    pub epsilon: Option<u32>,
}

/// Why a question cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    /// See [`WIDTH`].
    #[error("a number has {} to {} bits", WIDTH.start(), WIDTH.end())]
    Width,
    /// See [`GROUPS`].
    #[error("a question has {} to {} groups, or none", GROUPS.start(), GROUPS.end())]
    Groups,
    /// See [`COUNTERS`].
    #[error(
        "a list of things is counted with a power of two of counters, from {} to {}",
        COUNTERS.start(),
        COUNTERS.end()
    )]
    Counters,
    /// None, or too many.
    #[error("a question has 1 to {MOST} statistics")]
    Statistics,
    /// A quantile beyond the last.
    #[error("a quantile is given in thousandths, from 0 to 1000")]
    Quantile,
    /// No ascending numbers of the question's width.
    #[error("a histogram has 1 to {MOST} ascending bounds, each within the numbers' width")]
    Bounds,
    /// Too wide for squares.
    #[error("the variance is computed of numbers of at most {WIDTH_OF_SQUARES} bits")]
    Variance,
    /// See [`CANDIDATES`].
    #[error(
        "a ranking has {} to {} candidates, not more than the numbers' width has room for, and 1 \
         to {PLACES} places, not more than candidates",
        CANDIDATES.start(),
        CANDIDATES.end()
    )]
    Top,
    /// Different things are counted of lists, and nothing else is.
    #[error("of lists of things the number of different ones is computed, and of numbers is not")]
    Distinct,
    /// A circuit of the asker's own.
    #[error(
        "the circuit cannot be computed on these reports: it must be Bristol Fashion within its \
         limits, read numbers of their length, and one that reads all at once takes neither \
         groups nor noise"
    )]
    Circuit,
    /// Each part may be asked, and all together are too much.
    #[error("this is too much to compute at once: ask for fewer statistics, places or groups")]
    Large,
    /// No noise of this scale, or for this form.
    #[error(
        "ε must be large enough for the range of the numbers: take fewer bits, fewer statistics or \
         a larger ε"
    )]
    Noise,
}

impl Question {
    /// Whether it can be asked.
    ///
    /// # Errors
    /// [`BadQuestion`].
    pub fn validate(&self) -> Result<(), BadQuestion> {
        match self.form {
            Form::Number { width } | Form::Grouped { width, .. } if !WIDTH.contains(&width) => {
                return Err(BadQuestion::Width);
            }
            Form::Grouped { groups, .. } if !GROUPS.contains(&groups) => {
                return Err(BadQuestion::Groups);
            }
            Form::Items { counters }
                if !COUNTERS.contains(&counters) || !counters.is_power_of_two() =>
            {
                return Err(BadQuestion::Counters);
            }
            _ => {}
        }
        if !(1..=MOST).contains(&self.statistics.len()) {
            return Err(BadQuestion::Statistics);
        }
        self.statistics.iter().try_for_each(|statistic| self.validate_statistic(statistic))?;
        self.validate_noise()?;
        let load = self.load();
        let most = ostrakon_authbits::params::MAX_TRIPLES as u64;
        if load.gates(1) > most { Err(BadQuestion::Large) } else { Ok(()) }
    }

    fn validate_statistic(&self, statistic: &Statistic) -> Result<(), BadQuestion> {
        let width = self.form.width();
        let of_lists = matches!(self.form, Form::Items { .. });
        let check = |holds: bool, bad: BadQuestion| if holds { Ok(()) } else { Err(bad) };
        match statistic {
            Statistic::Distinct => check(of_lists, BadQuestion::Distinct),
            _ if of_lists => Err(BadQuestion::Distinct),
            Statistic::Quantile(thousandths) => check(*thousandths <= 1000, BadQuestion::Quantile),
            Statistic::Histogram(bounds) => {
                let ascend = bounds.windows(2).all(|pair| pair[0] < pair[1]);
                let fit = bounds.iter().all(|bound| bound >> width == 0);
                let few = (1..=MOST).contains(&bounds.len());
                check(ascend && fit && few, BadQuestion::Bounds)
            }
            Statistic::Variance => {
                check(width <= usize::from(WIDTH_OF_SQUARES), BadQuestion::Variance)
            }
            Statistic::Top { candidates, places } => {
                let fit = u64::from(*candidates) <= 1 << width;
                let some = (1..=PLACES).contains(places) && u16::from(*places) <= *candidates;
                check(CANDIDATES.contains(candidates) && fit && some, BadQuestion::Top)
            }
            Statistic::Circuit(own) => match own.judge(width) {
                Ok(Reads::Each) => Ok(()),
                Ok(Reads::All(_)) => {
                    let alone = self.form.groups().is_none() && self.epsilon.is_none();
                    check(alone, BadQuestion::Circuit)
                }
                Err(_) => Err(BadQuestion::Circuit),
            },
            Statistic::Sum => Ok(()),
        }
    }

    /// Whether a circuit of the asker's own reads all reports at once: it may tell anything of one.
    pub fn reads_all_at_once(&self) -> bool {
        self.most_at_once() < usize::MAX
    }

    /// How many reports can be computed on by circuits that read all at once; any number without.
    pub fn most_at_once(&self) -> usize {
        let of = |statistic: &Statistic| match statistic {
            Statistic::Circuit(own) => match own.reads() {
                Some(Reads::All(reports)) => Some(reports),
                _ => None,
            },
            _ => None,
        };
        self.statistics.iter().filter_map(of).min().unwrap_or(usize::MAX)
    }

    fn validate_noise(&self) -> Result<(), BadQuestion> {
        let Some(epsilon) = self.epsilon else { return Ok(()) };
        let sizes = self.size_scale().unwrap_or(1) <= MOST_ON_SIZES;
        let possible = || {
            self.statistics.iter().all(|statistic| {
                self.scales(statistic).iter().all(|scale| *scale <= noise::MAX_SCALE)
            })
        };
        if epsilon > 0 && sizes && possible() { Ok(()) } else { Err(BadQuestion::Noise) }
    }

    /// The scales of the noise on each thing that a statistic opens; none without noise.
    ///
    /// The question's ε is shared alike by all that is opened. One report, exchanged for another,
    /// changes a sum by up to 2^w − 1 (w the bits of what is added up), a sum of squares by up to
    /// the square of that, all counts of
    /// a histogram or a ranking together by 2, and each of the w counts of a quantile by 1. With
    /// groups these are twice as much, but for counts. Of lists, one *thing* more in one list
    /// changes the number of cells in use by 1 at most, and that of ones of one level by 1.
    pub(crate) fn scales(&self, statistic: &Statistic) -> Vec<u64> {
        let width = self.form.width();
        // Who moves from a group to another one changes the answers of both.
        let places = if self.form.groups().is_some() { 2 } else { 1 };
        let most = places * ((1u128 << width) - 1);
        let sensitivities = match statistic {
            Statistic::Quantile(_) => vec![places * width as u128],
            Statistic::Sum => vec![most],
            Statistic::Variance => vec![most, most * ((1 << width) - 1)],
            Statistic::Histogram(_) | Statistic::Top { .. } => vec![2],
            Statistic::Distinct => vec![1],
            Statistic::Circuit(own) => {
                own.outputs().iter().map(|bits| places * ((1u128 << bits) - 1)).collect()
            }
        };
        sensitivities.into_iter().map_while(|sensitivity| self.scale(sensitivity)).collect()
    }

    /// The scale of the noise on the sizes of groups, if there are any, and noise.
    pub(crate) fn size_scale(&self) -> Option<u64> {
        self.form.groups()?;
        self.scale(2)
    }

    /// The scale of the noise on something of this sensitivity; none without noise.
    fn scale(&self, sensitivity: u128) -> Option<u64> {
        let epsilon = self.epsilon?;
        let sizes = u64::from(self.form.groups().is_some());
        let shares = sizes + self.statistics.iter().map(parts).sum::<u64>();
        let scale = sensitivity.saturating_mul(1000 * u128::from(shares));
        let scale = scale.div_ceil(u128::from(epsilon.max(1)));
        Some(u64::try_from(scale).unwrap_or(u64::MAX))
    }

    /// Names the question.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/stats/question");
        transcript.field(self.text.as_bytes());
        let (kind, first, second) = match self.form {
            Form::Number { width } => (1, width.into(), 0),
            Form::Grouped { width, groups } => (2, width.into(), groups),
            Form::Items { counters } => (3, counters, 0),
        };
        transcript.number(kind).number(u64::from(first)).number(u64::from(second));
        transcript
            .number(u64::from(self.minimum))
            .number(self.epsilon.map_or(0, u64::from))
            .number(self.statistics.len() as u64);
        for statistic in &self.statistics {
            describe(statistic, &mut transcript);
        }
        transcript.finish()
    }
}

/// Things that a statistic opens and that one report changes each by the most, every one with noise
/// of its own. (Of the levels of a sketch a thing changes one.)
fn parts(statistic: &Statistic) -> u64 {
    match statistic {
        Statistic::Variance | Statistic::Distinct => 2,
        Statistic::Circuit(own) => own.outputs().len() as u64,
        _ => 1,
    }
}

fn describe(statistic: &Statistic, transcript: &mut Transcript) {
    match statistic {
        Statistic::Quantile(thousandths) => {
            transcript.number(1).number(u64::from(*thousandths));
        }
        Statistic::Sum => {
            transcript.number(2);
        }
        Statistic::Histogram(bounds) => {
            transcript.number(3).number(bounds.len() as u64);
            bounds.iter().for_each(|bound| {
                transcript.number(*bound);
            });
        }
        Statistic::Variance => {
            transcript.number(4);
        }
        Statistic::Top { candidates, places } => {
            transcript.number(5).number(u64::from(*candidates)).number(u64::from(*places));
        }
        Statistic::Distinct => {
            transcript.number(6);
        }
        Statistic::Circuit(own) => {
            transcript.number(7).field(own.text().as_bytes());
        }
    }
}
