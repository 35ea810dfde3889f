//! A computation on its way, at one member (C4 to C10).

mod again;
mod attempts;
mod cancelling;
mod intake;
mod looking;
mod sealing;
mod showing;
mod tape;
mod uploads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ostrakon_computation::{
    ComputationId, Conclusion, Contributors, Entry, Equivocation, Founded, Order, Said, Seal,
    SignedDraft, Statement, Told,
};
use ostrakon_crypto::{Digest, VerifyingKey};
use serde_json::Value;
use tokio::sync::{Mutex as Turn, Notify, RwLock};

use self::attempts::Attempt;
use self::looking::Looking;
use crate::job::{About, Job};
use crate::member::{Member, Refused};
use crate::store::{Remembered, StoreError};
use crate::view::Progress;

pub(crate) use showing::{Figures, phase};
pub use uploads::{PIECE_BYTES, Uploaded};

/// How much longer than the usual one the longest pause between two looks at the others is.
const SLOWER: u32 = 100;
/// How much shorter it is right after something has moved: the others' answer to it is near.
const SOONER: u32 = 8;

/// How many seconds a member that has a result computes on with others that have none. Who has
/// signed nothing until then keeps it from everybody, or is gone.
const LINGERS: u64 = 24 * 60 * 60;

/// How many seconds a question of which members show a part counts as under way after it has ended:
/// whoever asks anew until it likes the parts comes to an end of what is taken of it.
const TRIED: u64 = 24 * 60 * 60;

/// A computation, from its draft to its end.
pub(crate) struct Course {
    pub id: ComputationId,
    draft: SignedDraft,
    job: Arc<dyn Job>,
    /// What the job says of the draft, asked once.
    body_bytes: usize,
    most_inputs: usize,
    /// What contributors need of this member.
    part: Value,
    member: Weak<Member>,
    state: Mutex<State>,
    /// Held by whoever takes an input or closes, from its check to its being on disk.
    intake: Turn<()>,
    /// Held by whoever hands in a piece, or puts pieces together.
    uploading: Turn<()>,
    /// Held by whoever says something, from its being new to its being on disk and shown.
    saying: Turn<()>,
    /// Held by each attempt, from its beginning to what it came to being on disk.
    computing: RwLock<()>,
    /// Held by who sees the computation through.
    running: Turn<()>,
    news: Notify,
}

#[derive(Default)]
struct State {
    /// What contributors brought here, by key; more than one is evidence.
    entries: BTreeSet<Entry>,
    order: Option<Order>,
    told: Vec<Told>,
    /// How often something new was said by anybody.
    changes: u64,
    equivocations: Vec<Equivocation>,
    /// Whether a body at hand is sound.
    sound: BTreeMap<(VerifyingKey, Digest), bool>,
    /// Whose lists were verified.
    founded: Founded,
    /// How many signatures in them were verified.
    verified: u64,
    seal: Option<Seal>,
    conclusion: Option<Conclusion>,
    /// The attempt under way.
    attempt: Option<Attempt>,
    /// How far the attempt is.
    progress: Option<Progress>,
    /// This process's generation.
    generation: Option<u32>,
    /// When this member had its result, or stopped; before, when it closed. Seconds since 1970.
    over: Option<u64>,
    /// This member has a result and computes no more, though others have signed none.
    withdrawn: bool,
    /// Everything of it is being deleted.
    buried: bool,
    /// This member does nothing more for it.
    ended: bool,
    /// What was handed in is erased, since it was cancelled.
    erased: bool,
    /// What was handed in is erased, since it is of no more use.
    used_up: bool,
    /// The attempt of the generation that was said last has come to nothing: another is due.
    another: bool,
}

impl State {
    /// Whether there is a conclusion, and every member has signed the same.
    fn is_signed_by_all(&self) -> bool {
        self.conclusion.is_some() && is_signed_by_all(&self.told)
    }
}

/// Whether every member has signed the same result.
fn is_signed_by_all(told: &[Told]) -> bool {
    let mut results = told.iter().map(Told::result);
    let first = results.next().flatten();
    first.is_some() && results.all(|result| result == first)
}

/// What a course does next.
enum Next {
    /// Waits for news, or a while.
    Wait,
    /// Nothing, ever.
    Over,
}

/// The pause after one in which nothing has moved, where `usual` is what they are at first: the
/// others are asked ever more seldom.
fn longer(pause: Duration, usual: Duration) -> Duration {
    if pause < usual {
        (2 * pause).clamp(usual / SOONER, usual)
    } else {
        (pause + pause / 4).min(usual * SLOWER)
    }
}

/// Why a step was not made.
enum Trouble {
    /// Another attempt at it may succeed.
    Store(StoreError),
    /// The computation stops.
    Stop(String),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Course {
    /// A course that begins; of one on an earlier computation's inputs with these.
    pub fn new(here: &Arc<Member>, draft: SignedDraft, entries: Vec<Entry>) -> Arc<Self> {
        let state = State {
            sound: entries.iter().map(|entry| (entry.input(), true)).collect(),
            entries: entries.into_iter().collect(),
            told: vec![Told::default(); here.config.committee.members.len()],
            ..State::default()
        };
        Self::with(here, draft, state)
    }

    pub fn remembered(here: &Arc<Member>, of: Remembered) -> Arc<Self> {
        let Remembered { draft, order, seal, conclusion, entries, told, equivocations, over } = of;
        let sound = entries.iter().map(|entry| (entry.input(), true)).collect();
        // Once it has been said what this member holds, it holds nothing else.
        let listed = told.get(here.number).and_then(|own| own.held().map(<[Entry]>::to_vec));
        let entries = listed.unwrap_or(entries).into_iter().collect();
        let known = State { entries, order, told, equivocations, sound, ..State::default() };
        Self::with(here, draft, State { seal, conclusion, over, ..known })
    }

    fn with(here: &Arc<Member>, draft: SignedDraft, state: State) -> Arc<Self> {
        let job = here.config.jobs.get(&draft.draft.job).expect("judged before it was kept");
        let most = job.most_inputs(&draft.draft);
        // Where keys cost nothing, each member may be told of others: together they are not more
        // than can be computed on.
        let most_inputs = match draft.draft.contributors {
            Contributors::Anyone => most / here.config.committee.members.len(),
            Contributors::Keys(_) | Contributors::Earlier(_) => most,
        };
        let id = draft.draft.id();
        let committee = &here.config.committee;
        let about = About { computation: &id, draft: &draft.draft, committee };
        Arc::new(Self {
            id,
            part: job.part(about),
            body_bytes: job.body_bytes(&draft.draft),
            most_inputs,
            job: Arc::clone(job),
            draft,
            member: Arc::downgrade(here),
            state: Mutex::new(state),
            intake: Turn::default(),
            uploading: Turn::default(),
            saying: Turn::default(),
            computing: RwLock::default(),
            running: Turn::default(),
            news: Notify::new(),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }

    fn member(&self) -> Result<Arc<Member>, Refused> {
        self.member.upgrade().ok_or_else(|| Refused::Unavailable("this server stops".into()))
    }

    fn about<'a>(&'a self, here: &'a Member) -> About<'a> {
        let committee = &here.config.committee;
        About { computation: &self.id, draft: &self.draft.draft, committee }
    }

    /// Sees the computation through. Ends when it is over, or the member stops.
    pub async fn run(self: Arc<Self>) {
        let running = self.running.lock().await;
        let (mut pause, mut seen, mut looking) = (Duration::ZERO, 0, Looking::default());
        loop {
            let Some(here) = self.member.upgrade() else { return };
            match Arc::clone(&self).step(&here, &mut looking).await {
                Ok(Next::Over) => {
                    self.retire(&here);
                    self.state().ended = true;
                    if let Err(error) = self.note_end(&here).await {
                        tracing::error!(%error, "the end of a computation cannot be written");
                    }
                    drop((here, running));
                    return looking.passed_on().await;
                }
                Ok(Next::Wait) => {}
                Err(Trouble::Store(error)) => {
                    tracing::error!(%error, computation = ?self.id, "a step cannot be written");
                }
                Err(Trouble::Stop(why)) => {
                    tracing::warn!(why, computation = ?self.id, "a computation stops");
                    if let Err(error) = self.say(&here, Said::stopped(&why)).await {
                        tracing::error!(%error, "a stop cannot be written");
                    }
                    self.retire(&here);
                }
            }
            // What an attempt has said since the step before counts as news, too.
            let before = std::mem::replace(&mut seen, self.state().changes);
            pause = match seen != before {
                true => here.config.pause / SOONER,
                false => longer(pause, here.config.pause),
            };
            drop(here);
            tokio::select! {
                () = self.news.notified() => {}
                () = self.hear_late(&mut looking) => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn step(
        self: Arc<Self>,
        here: &Arc<Member>,
        looking: &mut Looking,
    ) -> Result<Next, Trouble> {
        if self.is_over() || self.state().buried {
            return Ok(Next::Over);
        }
        if let Some(order) = self.cancellation() {
            return self.end_cancelled(here, looking, order).await;
        }
        if self.state().told[here.number].stopped.is_some() {
            // The others are to hear why, from where everybody reads it; nothing else happens, but
            // that it may be cancelled.
            if let Err(Trouble::Store(error)) = self.hear(here, looking).await {
                return Err(error.into());
            }
            return Ok(if self.cancellation().is_some() { Next::Wait } else { Next::Over });
        }
        self.say_what_came_out(here).await?;
        self.close_if_due(here).await?;
        if self.state().told[here.number].holdings.is_none() {
            return Ok(Next::Wait);
        }
        self.listen(here, looking).await?;
        if self.cancellation().is_some() {
            self.news.notify_one();
            return Ok(Next::Wait);
        }
        let sealed = {
            let state = self.state();
            state.seal.is_some() && state.told[here.number].sealed.is_some()
        };
        if !sealed && !self.seal(here, looking).await? {
            return Ok(Next::Wait);
        }
        let Some(seal) = self.agreed_seal(here)? else { return Ok(Next::Wait) };
        let missing = {
            let state = self.state();
            state.seal.as_ref().map_or(0, |seal| seal.missing(&self.draft.draft))
        };
        if missing > 0 && self.state().conclusion.is_none() {
            self.conclude(here, seal, Conclusion::TooFew { missing }).await?;
        }
        self.withdraw_if_due(here).await?;
        if missing == 0 && !self.state().withdrawn {
            self.attempt(here, seal).await?;
        }
        self.compare_outcomes(seal)?;
        Ok(Next::Wait)
    }

    /// Signs a statement, writes it down, and shows it; unless something has been said in its place
    /// before, which stands for ever.
    async fn say(&self, here: &Member, said: Said) -> Result<(), StoreError> {
        let _turn = self.saying.lock().await;
        let statement = Statement::sign(self.id, said, &here.config.signing);
        let news = self.state().told[here.number].clone().take(statement.clone());
        if !matches!(news, Ok(true)) {
            return Ok(());
        }
        here.config.store.state(here.number, &statement).await?;
        // It has just been found to be news, and nobody else says anything meanwhile.
        let mut state = self.state();
        let _ = state.told[here.number].take(statement);
        state.changes += 1;
        Ok(())
    }

    /// Says what had come out before a crash kept it from being said.
    async fn say_what_came_out(&self, here: &Member) -> Result<(), StoreError> {
        let unsaid = {
            let state = self.state();
            let own = &state.told[here.number];
            let silent = own.outcome.is_none() && own.stopped.is_none();
            let conclusion = state.conclusion.as_ref().filter(|_| silent);
            conclusion.zip(own.seal()).map(|(of, seal)| (seal, of.digest(&self.id)))
        };
        match unsaid {
            Some((seal, result)) => self.say(here, Said::Outcome { seal, result }).await,
            None => Ok(()),
        }
    }

    fn compare_outcomes(&self, seal: Digest) -> Result<(), Trouble> {
        let state = self.state();
        let mut results: Vec<_> = state.told.iter().filter_map(Told::result).collect();
        results.dedup();
        match &results[..] {
            [] => Ok(()),
            [(of, _)] if *of == seal => Ok(()),
            _ => Err(Trouble::Stop("the servers have different results".into())),
        }
    }

    /// Who keeps its signature to itself does not pin what the others have: a member that has had
    /// its result for a while forgets what it computed with.
    async fn withdraw_if_due(&self, here: &Member) -> Result<(), StoreError> {
        let now = (here.config.clock)();
        let due = {
            let state = self.state();
            let passed = state.over.is_some_and(|over| over.saturating_add(LINGERS) <= now);
            state.conclusion.is_some() && passed && !state.withdrawn
        };
        if due {
            self.state().withdrawn = true;
            self.retire(here);
            here.config.store.erase_attempts(&self.id).await?;
            self.erase_inputs(here).await?;
        }
        Ok(())
    }

    /// Has the course end, since everything of it is deleted.
    pub fn bury(&self) {
        self.state().buried = true;
        if let Some(here) = self.member.upgrade() {
            self.retire(&here);
        }
        self.news.notify_one();
    }

    /// Notes a time from which on it may be deleted, unless there is one.
    async fn note_over(&self, here: &Member) -> Result<(), StoreError> {
        let now = (here.config.clock)();
        here.config.store.over(&self.id, now).await?;
        self.state().over.get_or_insert(now);
        Ok(())
    }

    async fn note_end(&self, here: &Member) -> Result<(), StoreError> {
        if self.state().buried {
            return Ok(());
        }
        self.note_over(here).await?;
        here.config.store.erase_attempts(&self.id).await?;
        if self.is_over() && self.keeps(here).await?.is_none() {
            // Nobody needs them any more, and whoever gets all keys one day could read them.
            self.erase_inputs(here).await?;
        }
        Ok(())
    }

    /// From when on it counts how long it is kept, in seconds since 1970.
    pub fn over(&self) -> Option<u64> {
        self.state().over
    }

    /// The computation whose sealed inputs are used again, if it is an earlier one's.
    pub fn earlier(&self) -> Option<&ComputationId> {
        self.draft.draft.earlier()
    }

    /// Who asks.
    pub fn creator(&self) -> &VerifyingKey {
        &self.draft.draft.creator
    }

    /// Whether this member still waits for something of it, computes, or keeps what it has sent for
    /// members that have not signed yet; or has shown a part of its own for it a short while ago.
    pub fn is_open(&self) -> bool {
        let Some(here) = self.member.upgrade() else { return false };
        let cancelled = self.cancellation().is_some();
        let state = self.state();
        let stopped = state.told[here.number].stopped.is_some();
        let ended = cancelled || state.withdrawn || stopped || state.is_signed_by_all();
        !state.buried && (!ended || self.was_tried(&state, &here))
    }

    /// Whether this member has shown a part of its own for it a short while ago.
    fn was_tried(&self, state: &State, here: &Member) -> bool {
        let now = (here.config.clock)();
        let lately = state.over.is_none_or(|over| now < over.saturating_add(TRIED));
        !self.part.is_null() && lately
    }

    /// Whether it has come to an end here without a result that is worth its place.
    pub fn makes_room(&self) -> bool {
        let Some(here) = self.member.upgrade() else { return false };
        let state = self.state();
        let result = matches!(state.conclusion, Some(Conclusion::Reached(_)));
        let ended = state.ended || state.erased;
        ended && !(result && state.is_signed_by_all()) && !self.was_tried(&state, &here)
    }

    fn is_over(&self) -> bool {
        self.state().is_signed_by_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four times members wait for each other between the order and the attempt. Each wait was a
    /// tenth of a second, whatever the others took.
    #[test]
    fn looks_come_soon_after_news_and_are_ever_more_seldom_where_nothing_moves() {
        let usual = Duration::from_millis(100);
        let mut pause = usual / SOONER;
        let (mut at, mut looks) = (pause, vec![pause]);
        while at < Duration::from_secs(3600) {
            pause = longer(pause, usual);
            at += pause;
            looks.push(at);
        }
        let within = |time: u64| looks.iter().filter(|at| at.as_millis() <= time.into()).count();
        assert_eq!([13, 40, 100, 200].map(within), [1, 2, 3, 4]);
        assert!(within(60_000) < 35 && looks.len() < 400, "{} looks in an hour", looks.len());
        assert_eq!(pause, usual * SLOWER);
        assert_eq!(longer(Duration::ZERO, usual), usual / SOONER);
    }
}
