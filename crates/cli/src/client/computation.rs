//! A committee as a client sees it: all members are asked, and what one says is not believed alone.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use futures::future::join_all;
use ostrakon_committee::{PIECE_BYTES, Phase, Progress, Uploaded, View};
use ostrakon_computation::{
    Announced, Archive, Cancellation, Committee, ComputationId, Draft, Heard, Input, Link, Order,
    Said, SignedDraft, Statement,
};
use ostrakon_crypto::{Digest, SigningKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::connection::{Connection, Pauses};
use crate::failure::{self, CallError};
use crate::output;

/// How long members that do not answer are asked again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it is still looked for a result after a member has said that there will be none.
const STOPPED: Duration = Duration::from_secs(3);
/// How long it is looked whether all members that answer have ended what was cancelled.
const ENDED: Duration = Duration::from_secs(15);
/// Between two looks at a computation that is under way.
const LOOK: Duration = Duration::from_millis(200);
/// Between two questions for what members have signed, while one says that there is no result.
const HEAR: Duration = Duration::from_secs(1);

/// A committee, connected.
pub struct Asked {
    /// Who it is.
    pub committee: Committee,
    /// Its digest.
    pub digest: Digest,
    members: Vec<Connection>,
}

/// A member's answer to a piece: so many bytes are on its disk.
#[derive(Deserialize)]
struct Piece {
    bytes: u64,
}

/// What has become of what was cancelled.
#[derive(Serialize)]
pub struct Cancelled {
    /// Members that have ended and erased it.
    pub ended: Vec<String>,
    /// Members that have not said so yet.
    pub silent: Vec<String>,
    /// Members that had begun to open what was asked for.
    pub opened: Vec<String>,
}

#[derive(Deserialize)]
struct Published {
    archive: Archive,
    result: Value,
}

impl Asked {
    /// Finds a committee at the address of one of its members. Without a digest that one is
    /// believed, as whoever founds a link has to believe somebody.
    ///
    /// # Errors
    /// If it does not answer, or is another one.
    pub async fn open(
        http: &reqwest::Client,
        origin: &str,
        digest: Option<&Digest>,
    ) -> Result<Self> {
        let first = Connection::new(http.clone(), origin);
        let committee: Committee = first.get("committee", &[(); 0]).await.map_err(failure::call)?;
        committee.validate().with_context(|| origin.to_owned())?;
        let own = committee.digest();
        if digest.is_some_and(|digest| *digest != own) {
            return Err(failure::unproven(format!(
                "{origin} serves another committee than the one that the link names"
            )));
        }
        let connect =
            |member: &ostrakon_computation::Card| Connection::new(http.clone(), &member.url);
        let members = committee.members.iter().map(connect).collect();
        Ok(Self { committee, digest: own, members })
    }

    /// The committee of a link.
    ///
    /// # Errors
    /// As [`Asked::open`].
    pub async fn of(http: &reqwest::Client, link: &Link) -> Result<Self> {
        Self::open(http, &link.origin, Some(&link.committee)).await
    }

    /// Asks every member the same until all have answered, for a while. A refusal ends it at once.
    async fn all<T>(
        &self,
        ask: impl AsyncFn(usize, &Connection) -> Result<T, CallError>,
    ) -> Result<Vec<T>> {
        let deadline = Instant::now() + PATIENCE;
        let one = async |(number, connection): (usize, &Connection)| {
            let mut pauses = Pauses::new(Duration::from_millis(200), Duration::from_secs(3));
            loop {
                match ask(number, connection).await {
                    Err(error) if error.passes() && Instant::now() < deadline => {
                        pauses.pause().await
                    }
                    answer => return answer,
                }
            }
        };
        let answers = join_all(self.members.iter().enumerate().map(one)).await;
        answers.into_iter().map(|answer| answer.map_err(failure::call)).collect()
    }

    /// Hands the draft to all members (C2).
    ///
    /// # Errors
    /// If one refuses it, or does not answer.
    pub async fn create(&self, draft: &SignedDraft) -> Result<Link> {
        self.all(async |_, member| member.post::<Value>("computations", draft).await).await?;
        Ok(Link {
            origin: self.members[0].origin().to_owned(),
            computation: draft.draft.id(),
            committee: self.digest,
            invitation: None,
        })
    }

    /// Reads what is asked, and believes the draft for its digest alone.
    ///
    /// # Errors
    /// If no member shows it.
    pub async fn draft(&self, computation: &ComputationId) -> Result<Draft> {
        let mut last = anyhow!("the committee has no members");
        for view in self.views(computation).await {
            match view {
                Ok(view) if view.draft.draft.id() == *computation => {
                    view.draft.verify(&self.digest)?;
                    return Ok(view.draft.draft);
                }
                Ok(_) => {
                    last = failure::unproven("a member shows another question than the link's")
                }
                Err(error) => last = failure::call(error),
            }
        }
        Err(last)
    }

    /// What each member shows.
    pub async fn views(&self, computation: &ComputationId) -> Vec<Result<View, CallError>> {
        let path = format!("computations/{}", computation.0.to_hex());
        join_all(self.members.iter().map(|member| member.get(&path, &[(); 0]))).await
    }

    /// What each member shows to contributors, who need it before they can make an input.
    ///
    /// # Errors
    /// If one does not answer.
    pub async fn parts(&self, computation: &ComputationId) -> Result<Vec<Value>> {
        let path = format!("computations/{}", computation.0.to_hex());
        self.all(async |_, member| Ok(member.get::<View>(&path, &[(); 0]).await?.part)).await
    }

    /// What a contributor tells each member before it hands a long input in; nothing of a short
    /// one.
    pub fn announce(
        &self,
        computation: &ComputationId,
        input: &Input,
        contributor: &SigningKey,
    ) -> Vec<Announced> {
        if input.body.len() <= PIECE_BYTES {
            return Vec::new();
        }
        let members = self.committee.members.iter();
        members.map(|to| Announced::sign(computation, input, &to.key, contributor)).collect()
    }

    /// Hands in an input at all members, as it was announced, and checks their receipts (C4).
    /// `tell` hears of each member how many bytes it has, piece by piece.
    ///
    /// # Errors
    /// If one refuses it, or does not answer, or gives no proper receipt.
    pub async fn hand_in(
        &self,
        computation: &ComputationId,
        (input, announced): (&Input, &[Announced]),
        tell: impl Fn(usize, u64),
    ) -> Result<Vec<Statement>> {
        let path = format!("computations/{}/inputs", computation.0.to_hex());
        let said = Said::Receipt { contributor: input.entry.contributor, body: input.entry.body };
        let receipts: Vec<Statement> = if input.body.len() <= PIECE_BYTES {
            let bytes = input.encode();
            let whole = input.body.len() as u64;
            self.all(async |number, member| {
                let receipt = member.post_bytes(&path, bytes.clone()).await;
                receipt.inspect(|_| tell(number, whole))
            })
            .await?
        } else {
            ensure!(
                announced.len() == self.members.len(),
                "what is kept of the input was not announced to these members"
            );
            let one = async |number: usize, member: &Connection| {
                let whole = (input, &announced[number]);
                in_pieces(member, computation, whole, |held| tell(number, held)).await
            };
            self.all(one).await?
        };
        for (receipt, member) in receipts.iter().zip(&self.committee.members) {
            let proper = receipt.computation == *computation && receipt.said == said;
            if !proper || !receipt.verifies(&member.key) {
                return Err(failure::unproven(format!("{} gave no proper receipt", member.name)));
            }
        }
        Ok(receipts)
    }

    /// Gives the creator's order to close to all members; one that takes it passes it on. Unless it
    /// is meant `even_if_few`, it is not given while no member shows as many inputs as the minimum.
    ///
    /// # Errors
    /// If too few have reported, or no member takes it.
    pub async fn close(&self, order: &Order, even_if_few: bool) -> Result<()> {
        let views = self.views(&order.computation).await;
        let most = views.iter().flatten().map(|view| view.inputs).max().unwrap_or(0);
        let minimum = u64::from(self.draft(&order.computation).await?.minimum);
        ensure!(
            most >= minimum || even_if_few,
            "{} more must hand in first: with fewer than {minimum} nothing is computed. \
             --even-if-few closes it all the same",
            minimum - most
        );
        let path = format!("computations/{}/order", order.computation.0.to_hex());
        self.tell(&path, order).await.map_err(|mut refusals| refused(refusals.pop()))
    }

    /// Tells all members; why they refuse it, by member, if none takes it.
    async fn tell(&self, path: &str, what: &impl Serialize) -> Result<(), Vec<CallError>> {
        let told = self.members.iter().map(|member| member.post_silently(path, what));
        let answers = join_all(told).await;
        if answers.iter().any(Result::is_ok) {
            return Ok(());
        }
        Err(answers.into_iter().filter_map(Result::err).collect())
    }

    /// Gives the creator's cancellation to all members; one that takes it passes it on. Looks for a
    /// while until all that answer have ended the computation.
    ///
    /// # Errors
    /// If no member takes it.
    pub async fn cancel(&self, order: &Cancellation) -> Result<Cancelled> {
        let draft = self.draft(&order.computation).await?;
        let path = format!("computations/{}/cancellation", order.computation.0.to_hex());
        self.tell(&path, order).await.map_err(|mut refusals| {
            // Who says no says more than who does not answer.
            refusals.sort_by_key(CallError::passes);
            refused(refusals.into_iter().next())
        })?;
        let deadline = Instant::now() + ENDED;
        loop {
            let views = self.views(&order.computation).await;
            let heard = self.heard(&draft).await;
            let answered = views.iter().flatten().count();
            // A member says of itself that it has erased everything, and of no other one.
            let ends = |member: &usize| {
                let shows = views[*member].as_ref().map(|view| &view.phase);
                matches!(shows, Ok(Phase::Cancelled { .. })) && heard.ended.contains(member)
            };
            let (ended, silent): (Vec<usize>, Vec<usize>) = (0..self.members.len()).partition(ends);
            if (ended.len() == answered && answered > 0) || Instant::now() > deadline {
                let names =
                    |members: Vec<usize>| members.into_iter().map(|m| self.name(m).to_owned());
                return Ok(Cancelled {
                    ended: names(ended).collect(),
                    silent: names(silent).collect(),
                    opened: names(heard.opened).collect(),
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn name(&self, member: usize) -> &str {
        &self.committee.members[member].name
    }

    /// What members that answer have signed of the end of a computation.
    async fn heard(&self, draft: &Draft) -> Heard {
        let path = format!("computations/{}/statements", draft.id().0.to_hex());
        let asked = self.members.iter().map(|member| member.get_page(&path, &[(); 0]));
        let shown = join_all(asked).await.into_iter().map(Result::unwrap_or_default);
        Heard::of(&self.committee, draft, &shown.collect::<Vec<Vec<Statement>>>())
    }

    /// Why there will be no result, by what members have signed of themselves, and of the creator.
    fn no_result(&self, heard: &Heard) -> Option<String> {
        if heard.cancelled {
            let told = "who asked has cancelled it, and what was handed in is erased";
            let opened: Vec<&str> = heard.opened.iter().map(|member| self.name(*member)).collect();
            return Some(match &opened[..] {
                [] => told.to_owned(),
                names => {
                    format!("{told}; but {} had begun to open the result", names.join(" and "))
                }
            });
        }
        // Who was the first to stop does not repeat another one.
        let repeats = |(_, why): &&(usize, String)| why.ends_with(" has stopped");
        let first = heard.stopped.iter().find(|said| !repeats(said)).or(heard.stopped.first());
        first.map(|(member, why)| format!("{} says: {why}", self.name(*member)))
    }

    /// The result with everything that proves it, checked. Waits as long as the computation is
    /// under way; `tell` hears how far it is.
    ///
    /// # Errors
    /// If it has stopped, is not closed, or what is shown proves nothing.
    pub async fn result(
        &self,
        computation: &ComputationId,
        wait: bool,
        mut tell: impl FnMut(&View),
    ) -> Result<(Archive, Value)> {
        let quiet = Instant::now() + PATIENCE;
        let (mut stopped_since, mut heard, mut heard_at) = (None, Heard::default(), None);
        loop {
            let views: Vec<View> =
                self.views(computation).await.into_iter().filter_map(Result::ok).collect();
            ensure!(
                !views.is_empty() || Instant::now() < quiet,
                failure::unreachable("no member answers")
            );
            // What a member shows of the end is its own word; what counts is signed by all.
            let ended = |view: &View| matches!(view.phase, Phase::Done | Phase::TooFew { .. });
            if views.iter().any(ended)
                && let Ok(published) = self.published(computation).await
            {
                return Ok(published);
            }
            let drafts = || views.iter().map(|view| &view.draft);
            let draft = drafts()
                .find(|of| of.draft.id() == *computation && of.verify(&self.digest).is_ok());
            let due = heard_at.is_none_or(|at: Instant| at.elapsed() >= HEAR);
            if let (true, true, Some(draft)) = (views.iter().any(is_given_up), due, draft) {
                heard = self.heard(&draft.draft).await;
                heard_at = Some(Instant::now());
            }
            let why = self.no_result(&heard);
            if let Some(why) = &why {
                let since = *stopped_since.get_or_insert_with(Instant::now);
                ensure!(wait && since.elapsed() < STOPPED, "there will be no result: {why}");
            }
            if let Some(view) = farthest(&views) {
                tell(view);
                if !wait {
                    bail!("there is no result yet: {}", words(view));
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn published(&self, computation: &ComputationId) -> Result<(Archive, Value)> {
        let path = format!("computations/{}/archive", computation.0.to_hex());
        let mut last = anyhow!("no member shows the result");
        for member in &self.members {
            match member.get_page::<Published>(&path, &[(); 0]).await {
                Ok(Published { archive, result }) => {
                    match archive.verify_as(computation, &self.digest) {
                        Ok(()) => return Ok((archive, result)),
                        Err(error) => last = failure::unproven(error.to_string()),
                    }
                }
                Err(error) => last = failure::call(error),
            }
        }
        Err(last)
    }
}

/// Hands a long input in at one member, from where that was broken off before.
async fn in_pieces(
    member: &Connection,
    computation: &ComputationId,
    (input, announced): (&Input, &Announced),
    tell: impl Fn(u64),
) -> Result<Statement, CallError> {
    let path = format!("computations/{}/uploads", computation.0.to_hex());
    // After the last piece the receipt is asked for, once.
    for _ in 0..2 {
        let (upload, mut held) = match member.post(&path, announced).await? {
            Uploaded::Receipt(receipt) => return Ok(receipt),
            Uploaded::Held { upload, bytes } => (upload, bytes),
        };
        let rest = |held: u64| usize::try_from(held).ok().and_then(|held| input.body.get(held..));
        loop {
            let rest = rest(held).unwrap_or_default();
            let piece = rest[..rest.len().min(PIECE_BYTES)].to_vec();
            let place = format!("{path}/{}/{held}", upload.to_hex());
            let next = held + piece.len() as u64;
            let Piece { bytes } = member.post_bytes(&place, piece).await?;
            if bytes != next {
                let (origin, cause) = (member.origin().to_owned(), "bytes that were not sent");
                return Err(CallError::Unknown { origin, cause: cause.to_owned() });
            }
            held = next;
            tell(held);
            if held == announced.bytes {
                break;
            }
        }
    }
    let (origin, cause) = (member.origin().to_owned(), "no receipt for what it holds".to_owned());
    Err(CallError::Unknown { origin, cause })
}

fn refused(refusal: Option<CallError>) -> anyhow::Error {
    refusal.map_or_else(|| anyhow!("the committee has no members"), failure::call)
}

/// Whether a member shows that there will be no result. That is its own word, of whatever it says
/// of others.
fn is_given_up(view: &View) -> bool {
    matches!(view.phase, Phase::Cancelled { .. } | Phase::Stopped { .. })
}

/// Of what members show what is to be told: as long as one takes inputs, that; else what the first
/// shows that has not given up.
fn farthest(views: &[View]) -> Option<&View> {
    let collecting = views.iter().find(|view| view.phase == Phase::Collecting);
    let under_way = || views.iter().find(|view| !is_given_up(view));
    collecting.or_else(under_way).or(views.first())
}

/// What servers do on graphs, in words.
fn stage(progress: &Progress) -> String {
    let Progress { stage, done, of, sent } = progress;
    let what = match stage.as_str() {
        "preparing" => {
            format!("the servers prepare secret shuffles: {done} of {of} parts are ready")
        }
        "checking" => "the servers check that every list is a graph, without seeing one".to_owned(),
        "hop" => format!("hop {} of {of}", done + 1),
        "verifying" => "the servers verify what they have computed".to_owned(),
        _ => "the servers open what was asked for, and nothing else".to_owned(),
    };
    format!("{what} ({} sent so far by one of them)", output::size(*sent))
}

/// How far a computation is, in words.
pub fn words(view: &View) -> String {
    let minimum = u64::from(view.draft.draft.minimum);
    match &view.phase {
        Phase::Collecting if view.inputs < minimum => {
            format!("{} handed in so far; {} more needed", view.inputs, minimum - view.inputs)
        }
        Phase::Collecting => format!("{} handed in so far; it is still open", view.inputs),
        Phase::Sealing => "closed; the servers agree on who is counted".to_owned(),
        Phase::Computing => match &view.progress {
            Some(progress) => stage(progress),
            None => format!("the servers compute on {} answers", view.inputs),
        },
        Phase::Done => "the result is there".to_owned(),
        Phase::TooFew { missing } => format!("{missing} answers were missing"),
        Phase::Cancelled { .. } => "a member says that it was cancelled".to_owned(),
        Phase::Stopped { .. } => "a member says that it has stopped".to_owned(),
    }
}
