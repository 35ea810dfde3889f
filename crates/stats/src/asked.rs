//! Statistics as a committee's computation: how the documents of `docs/spec/committee.md` hold a
//! question, the members' keys for shares, a report and a result.

use std::sync::Arc;

use ostrakon_computation as computation;
use ostrakon_computation::{
    Archive, ComputationId, Conclusion, Draft, Input, Parameters, body_digest,
};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::report::{self, BadValue, Report, Scope, Value};
use crate::{
    Answer, BadCommittee, BadPart, BadQuestion, BadReport, Committee, Evidence, Member, Part,
    Places, Question,
};

/// The job's name in drafts.
pub const JOB: &str = "stats";

/// What came out, as members sign it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsResult {
    /// The answers, in the order of the question's statistics.
    pub answers: Vec<Answer>,
    /// How many reports they are of.
    pub accepted: usize,
    /// Why the others of the seal were left out, in its order.
    pub excluded: Vec<Evidence>,
}

impl StatisticsResult {
    /// Whether every report of the archive's seal was accepted, or is left out on evidence that
    /// holds.
    fn accounts_for(&self, archive: &Archive) -> Result<bool, NotStatistics> {
        let sealed = &archive.seal.inputs;
        if self.excluded.is_empty() {
            return Ok(self.accepted == sealed.len());
        }
        let asked = Asked::of(&archive.draft.draft, &archive.committee)?;
        let (scope, mut left) = (asked.scope(), sealed.iter());
        let is_founded = |evidence: &Evidence| {
            let body = body_digest(&evidence.report);
            // In the seal's order, so that none is left out twice.
            let input = left.find(|input| input.body == body);
            let own = input.is_some_and(|input| evidence.reporter() == Some(input.contributor));
            own && evidence.holds(&scope)
        };
        let all = self.accepted.checked_add(self.excluded.len()) == Some(sealed.len());
        Ok(all && self.excluded.iter().all(is_founded))
    }
}

/// Why a computation is no statistics, or not for this program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotStatistics {
    /// Another job.
    #[error("this does not ask for statistics but for \"{0}\"")]
    Job(String),
    /// Parameters or a result that this program does not read.
    #[error("this is of another version of the program")]
    Version,
    /// Reports are left out without a reason that anybody can check.
    #[error("a report is left out of this result without evidence that holds")]
    Excluded,
    /// The question contradicts the draft around it.
    #[error("the question and the draft around it differ")]
    Differ,
    /// The question.
    #[error(transparent)]
    Question(#[from] BadQuestion),
    /// A card.
    #[error("the card of {0} has no proper key for shares")]
    Card(String),
    /// The committee.
    #[error(transparent)]
    Committee(#[from] BadCommittee),
}

/// A question that a committee is asked, with what reports and members need of it.
pub struct Asked {
    /// Names the computation, and so the reports.
    pub computation: ComputationId,
    /// The question.
    pub question: Question,
    /// The members' keys.
    pub committee: Arc<Committee>,
}

impl Asked {
    /// What a draft asks of a committee.
    ///
    /// # Errors
    /// [`NotStatistics`].
    pub fn of(draft: &Draft, committee: &computation::Committee) -> Result<Self, NotStatistics> {
        Self::with(draft, Arc::new(members(committee)?))
    }

    /// The same, of members whose keys have been checked ([`members`]).
    ///
    /// # Errors
    /// [`NotStatistics`].
    pub fn with(draft: &Draft, committee: Arc<Committee>) -> Result<Self, NotStatistics> {
        Ok(Self { computation: draft.id(), question: question(draft)?, committee })
    }

    /// What the reports are bound to.
    pub fn scope(&self) -> Scope<'_> {
        let Self { computation, question, committee } = self;
        Scope { subject: computation.0, committee, question, number: 0 }
    }

    /// Where the things of lists fall, by the parts that the members show.
    ///
    /// # Errors
    /// [`BadPart`].
    pub fn places(&self, parts: &[Part]) -> Result<Places, BadPart> {
        Places::of(&self.scope(), parts)
    }

    /// Makes a report, signed as an input.
    ///
    /// # Errors
    /// [`BadValue`] if the question does not ask for this.
    pub fn report(
        &self,
        value: &Value,
        reporter: &SigningKey,
        randomness: &Secret,
    ) -> Result<Input, BadValue> {
        let body = report::make(&self.scope(), value, reporter, randomness)?;
        Ok(Input::sign(&self.computation, body, reporter))
    }

    /// Reads an input as a report of its contributor.
    ///
    /// # Errors
    /// [`BadReport`].
    pub fn read(&self, input: &Input) -> Result<Report, BadReport> {
        report::check(&input.body, &self.scope())
    }

    /// The same of an input that has passed [`Asked::read`] before, by this server.
    ///
    /// # Errors
    /// [`BadReport`].
    pub fn read_again(&self, input: &Input) -> Result<Report, BadReport> {
        report::checked_before(&input.body, &self.scope())
    }
}

/// A question as a draft's parameters.
pub fn parameters(question: &Question) -> Parameters {
    Parameters(wire::encode(question))
}

/// The question of a draft.
///
/// # Errors
/// [`NotStatistics`].
pub fn question(draft: &Draft) -> Result<Question, NotStatistics> {
    if draft.job != JOB {
        return Err(NotStatistics::Job(draft.job.clone()));
    }
    let question: Question =
        wire::decode(&draft.parameters.0).map_err(|_| NotStatistics::Version)?;
    question.validate()?;
    let same = question.minimum == draft.minimum && question.text == draft.title;
    if same { Ok(question) } else { Err(NotStatistics::Differ) }
}

/// The members' keys for shares.
///
/// # Errors
/// [`NotStatistics`].
pub fn members(committee: &computation::Committee) -> Result<Committee, NotStatistics> {
    let member = |card: &computation::Card| {
        let member =
            Member::from_bytes(card.share_key.proven()).filter(|member| member.key == card.key);
        member.ok_or_else(|| NotStatistics::Card(card.name.clone()))
    };
    let members = committee.members.iter().map(member).collect::<Result<_, _>>()?;
    Ok(Committee::new(members)?)
}

/// The result in an archive, in which whoever was left out is left out on evidence that holds; none
/// if too few had reported.
///
/// # Errors
/// [`NotStatistics`].
pub fn result(archive: &Archive) -> Result<Option<StatisticsResult>, NotStatistics> {
    let Conclusion::Reached(result) = &archive.conclusion else { return Ok(None) };
    let result: StatisticsResult = wire::decode(&result.0).map_err(|_| NotStatistics::Version)?;
    if result.accounts_for(archive)? { Ok(Some(result)) } else { Err(NotStatistics::Excluded) }
}
