//! A member: what people and other members ask of it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};

use ostrakon_computation::{
    Announced, Archive, Cancellation, Committee, ComputationId, Conclusion, Contributors, Draft,
    Input, Order, SignedDraft, Statement,
};
use ostrakon_crypto::{Digest, VerifyingKey};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Mutex as Turn;
use tokio::task::JoinSet;

use crate::course::{Course, Figures, Uploaded};
use crate::job::{Job, Jobs, Price};
use crate::member::{Config, Member, Open, Refused};
use crate::store::{Again, Store, StoreError};
use crate::view::View;

/// How many of the shortest pauses pass between two looks at what is over.
const BETWEEN_SWEEPS: u32 = 50;

/// A member of a committee. Clones are the same member.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    member: Arc<Member>,
    courses: Mutex<BTreeMap<ComputationId, Arc<Course>>>,
    /// Held by whoever adds a computation, from the count of those there are to its being one.
    creating: Turn<()>,
    tasks: Mutex<JoinSet<()>>,
}

impl Service {
    /// Starts the member with what it remembers, on the current tokio runtime.
    ///
    /// # Errors
    /// If its memory cannot be read, or it is no member.
    pub async fn start(config: Config) -> Result<Self, StoreError> {
        let remembered = config.store.computations(config.committee.members.len()).await?;
        let inner = Arc::new(Inner {
            member: Arc::new(Member::new(config, Handle::current())),
            courses: Mutex::default(),
            creating: Turn::default(),
            tasks: Mutex::default(),
        });
        for computation in remembered {
            inner.follow(Course::remembered(&inner.member, computation));
        }
        let sweeping = sweep(Arc::downgrade(&inner));
        inner.tasks.lock().expect("no panic while held").spawn(sweeping);
        Ok(Self(inner))
    }

    /// Stops what is under way; what was written is on disk.
    pub async fn stop(&self) {
        let mut tasks = std::mem::take(&mut *self.0.tasks.lock().expect("no panic while held"));
        for course in self.courses() {
            course.give_up();
        }
        tasks.shutdown().await;
        self.config().store.close().await;
    }

    fn config(&self) -> &Config {
        &self.0.member.config
    }

    /// Whose member this is.
    pub fn committee(&self) -> &Committee {
        &self.config().committee
    }

    /// This member's number.
    pub fn number(&self) -> usize {
        self.0.member.number
    }

    /// The jobs that it knows.
    pub fn jobs(&self) -> &Jobs {
        &self.config().jobs
    }

    /// Takes a draft (C2). The same one again changes nothing.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn create(&self, draft: SignedDraft) -> Result<ComputationId, Refused> {
        let (inner, config) = (&self.0, self.config());
        draft.verify(&inner.member.digest)?;
        let id = draft.draft.id();
        if inner.course(&id).is_some() {
            return Ok(id);
        }
        if config.store.buried(&id).await?.is_some() {
            return Err(Refused::Conflict(
                "this question is over and was deleted: ask it anew, with a draft of its own"
                    .into(),
            ));
        }
        let creator = &draft.draft.creator;
        if config.creators.as_ref().is_some_and(|admitted| !admitted.contains(creator)) {
            return Err(Refused::Forbidden(
                "this server takes questions of known creators only; ask its operator to add your key"
                    .into(),
            ));
        }
        let job = config.jobs.get(&draft.draft.job).ok_or_else(|| {
            let known = config.jobs.names().join(", ");
            Refused::Unsound(format!("this server computes {known}, not {}", draft.draft.job))
        })?;
        job.judge(&draft.draft, &config.committee).map_err(Refused::Unsound)?;
        if let Some(why) = self.too_dear(job.as_ref(), &draft.draft) {
            return Err(Refused::Unsound(why.into()));
        }
        if draft.draft.closes.is_some_and(|closes| closes <= (config.clock)()) {
            return Err(Refused::Unsound("the date of closing is past".into()));
        }
        // Apart from who asks, who may hang up between the disk and the memory.
        let service = self.clone();
        let adding = inner.member.runtime.spawn(async move { service.add(draft).await });
        adding.await.map_err(|_| Refused::Unavailable("this server stops".into()))??;
        Ok(id)
    }

    /// Adds a draft that has been judged, if there is room for one more.
    async fn add(&self, draft: SignedDraft) -> Result<(), Refused> {
        let inner = &self.0;
        // Others that come at the same time are counted before it or after it.
        let _turn = inner.creating.lock().await;
        if inner.course(&draft.draft.id()).is_none() {
            self.has_room(&draft.draft.creator).await?;
            let entries = match draft.draft.earlier() {
                Some(earlier) => self.begin_again(earlier, &draft).await?,
                None => {
                    self.config().store.add(&draft).await?;
                    Vec::new()
                }
            };
            inner.follow(Course::new(&inner.member, draft, entries));
        }
        Ok(())
    }

    /// Why a member that keeps a budget for each contributor does not take this, if it does not.
    fn too_dear(&self, job: &dyn Job, draft: &Draft) -> Option<&'static str> {
        let named = !matches!(draft.contributors, Contributors::Anyone);
        match (self.config().budget, job.price(draft)) {
            (None, _) | (_, Price::None) => None,
            (Some(_), Price::Exact) => Some(
                "this server takes only questions whose answers have noise that hides all of what \
                 somebody hands in, since it counts what they tell of each contributor: ask for \
                 statistics of numbers with an epsilon, or ask a committee without a privacy \
                 budget",
            ),
            (Some(budget), Price::Epsilon(epsilon)) if epsilon > budget => {
                Some("this server's budget for each contributor is smaller than this epsilon")
            }
            (Some(_), Price::Epsilon(_)) => (!named).then_some(
                "this server counts what answers tell of each contributor: invite them by name",
            ),
        }
    }

    /// Takes a draft about inputs that were sealed before (C14), and returns these.
    async fn begin_again(
        &self,
        earlier: &ComputationId,
        draft: &SignedDraft,
    ) -> Result<Vec<ostrakon_computation::Entry>, Refused> {
        let inner = &self.0;
        let course = inner.course(earlier).ok_or(Refused::NotFound(
            "this server knows no such first question, or has deleted it since it was over",
        ))?;
        let (seal, most) = course.again(&inner.member, &draft.draft).await?;
        let begun = self.config().store.add_again(draft, (earlier, &seal), most).await?;
        let why = match begun {
            Again::Begun => return Ok(seal.inputs),
            Again::UsedUp => "as many questions were asked as those who contributed were told",
            Again::Erased => "what was handed in is erased",
        };
        Err(Refused::Conflict(why.into()))
    }

    /// Whether one more question of this creator is taken. What has ended without a result, and has
    /// been over for the longest, makes room.
    async fn has_room(&self, creator: &VerifyingKey) -> Result<(), Refused> {
        let courses = self.courses();
        let Open { of_one, in_all, kept } = self.config().open;
        let open: Vec<_> = courses.iter().filter(|course| course.is_open()).collect();
        if open.iter().filter(|course| course.creator() == creator).count() >= of_one {
            return Err(Refused::Unavailable(format!(
                "{of_one} questions of yours are under way here, and more of one creator are not \
                 taken at a time: close or cancel one first (one that asks for lists counts for a \
                 day after its end)"
            )));
        }
        if open.len() >= in_all {
            return Err(Refused::Unavailable(format!(
                "{in_all} questions are under way here, and more are not taken at a time: try \
                 again when one has come to its end"
            )));
        }
        if courses.len() >= kept {
            let ended = courses.iter().filter(|course| course.makes_room());
            let oldest = ended.min_by_key(|course| course.over()).ok_or_else(|| {
                Refused::Unavailable(
                    "this server keeps as many computations as it can; its operator has to make \
                     room"
                        .into(),
                )
            })?;
            self.0.bury(oldest).await?;
        }
        Ok(())
    }

    /// Takes an input and gives the receipt (C4).
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn submit(&self, id: &ComputationId, input: Input) -> Result<Statement, Refused> {
        self.course(id)?.submit(input).await
    }

    /// Says how far an input is that comes in pieces; takes it if it is complete (C4).
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn announce(
        &self,
        id: &ComputationId,
        announced: Announced,
    ) -> Result<Uploaded, Refused> {
        self.course(id)?.announce(announced).await
    }

    /// Whether pieces of an upload of this name are waited for, as can be told before one has come.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn awaits(&self, id: &ComputationId, upload: &Digest) -> Result<(), Refused> {
        self.course(id)?.awaits(upload).await
    }

    /// Takes the piece of an announced input that begins at this byte; returns how many bytes are
    /// on disk.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn piece(
        &self,
        id: &ComputationId,
        upload: &Digest,
        at: u64,
        piece: &[u8],
    ) -> Result<u64, Refused> {
        self.course(id)?.piece(upload, at, piece).await
    }

    /// Whether inputs of this key are taken now, as far as can be told before one has come.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn admits(&self, id: &ComputationId, contributor: &VerifyingKey) -> Result<(), Refused> {
        self.course(id)?.is_open_to(contributor)
    }

    /// Takes the creator's order to close (C5).
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn close(&self, order: &Order) -> Result<(), Refused> {
        self.course(&order.computation)?.order(order).await
    }

    /// Takes the creator's word that nothing is to come out (C13).
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn cancel(&self, order: &Cancellation) -> Result<(), Refused> {
        let course = self.course(&order.computation)?;
        if course.cancel(order).await? {
            // Of one that has stopped nobody sees to it any more.
            self.0.tasks.lock().expect("no panic while held").spawn(course.run());
        }
        Ok(())
    }

    /// What there is to see of a computation.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn view(&self, id: &ComputationId) -> Result<View, Refused> {
        Ok(self.course(id)?.view())
    }

    /// All computations.
    pub fn views(&self) -> Vec<View> {
        self.courses().iter().map(|course| course.view()).collect()
    }

    /// What is counted of all computations.
    pub(crate) fn figures(&self) -> Vec<Figures> {
        self.courses().iter().map(|course| course.figures()).collect()
    }

    /// Its memory.
    pub(crate) fn store(&self) -> &Store {
        &self.config().store
    }

    /// This member's own statements.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn statements(&self, id: &ComputationId) -> Result<Vec<Statement>, Refused> {
        Ok(self.course(id)?.statements())
    }

    /// Bytes of the longest input of a computation, as [`Input::encode`] writes it.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn input_bytes(&self, id: &ComputationId) -> Result<usize, Refused> {
        Ok(self.course(id)?.input_bytes())
    }

    /// A contributor's input by the digest of its body, as it was handed in.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn input(
        &self,
        id: &ComputationId,
        contributor: &VerifyingKey,
        body: &Digest,
    ) -> Result<Vec<u8>, Refused> {
        self.course(id)?;
        let input = self.config().store.input(id, contributor, body).await?;
        Ok(input.ok_or(Refused::NotFound("this server holds no such input"))?.encode())
    }

    /// The result with all signatures.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn archive(&self, id: &ComputationId) -> Result<Archive, Refused> {
        let archive = self.course(id)?.archive();
        archive.ok_or_else(|| Refused::Conflict("there is no result yet".into()))
    }

    /// The same, also of a computation that has been deleted.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn archived(&self, id: &ComputationId) -> Result<Archive, Refused> {
        if let Some(course) = self.0.course(id) {
            let archive = course.archive();
            return archive.ok_or_else(|| Refused::Conflict("there is no result yet".into()));
        }
        let buried = self.config().store.buried(id).await?;
        buried.flatten().ok_or(Refused::NotFound("this server knows no result of this name"))
    }

    /// An archive's result in its job's words; null if nothing was computed.
    pub fn render(&self, archive: &Archive) -> Value {
        let draft = &archive.draft.draft;
        match (&archive.conclusion, self.config().jobs.get(&draft.job)) {
            (Conclusion::Reached(result), Some(job)) => job.render(draft, &result.0),
            _ => Value::Null,
        }
    }

    fn course(&self, id: &ComputationId) -> Result<Arc<Course>, Refused> {
        self.0.course(id).ok_or(Refused::NotFound(
            "this server knows no such computation, or has deleted it since it was over",
        ))
    }

    fn courses(&self) -> Vec<Arc<Course>> {
        self.0.courses.lock().expect("no panic while held").values().cloned().collect()
    }
}

/// Erases what was kept for questions that do not come, and deletes what has been over, or closed
/// without an end, for as long as the operator keeps it, but for archives.
async fn sweep(inner: Weak<Inner>) {
    while let Some(inner) = inner.upgrade() {
        let config = &inner.member.config;
        let now = (config.clock)();
        let courses = Service(Arc::clone(&inner)).courses();
        for course in &courses {
            if let Err(error) = course.erase_if_due(&inner.member).await {
                tracing::error!(%error, "what was kept for further questions cannot be erased");
            }
        }
        let keep = config.keep.map(|keep| keep.as_secs());
        let due = |over: u64| keep.is_some_and(|keep| over.saturating_add(keep) <= now);
        // One whose inputs are being computed on again is needed.
        let open = courses.iter().filter(|course| course.is_open());
        let needed: BTreeSet<_> = open.filter_map(|course| course.earlier().copied()).collect();
        let over = courses.iter().filter(|course| course.over().is_some_and(due));
        for course in over.filter(|course| !needed.contains(&course.id)) {
            if let Err(error) = inner.bury(course).await {
                tracing::error!(%error, "what is over cannot be deleted");
            }
        }
        let pause = config.pause * BETWEEN_SWEEPS;
        drop(inner);
        tokio::time::sleep(pause).await;
    }
}

impl Inner {
    fn course(&self, id: &ComputationId) -> Option<Arc<Course>> {
        self.courses.lock().expect("no panic while held").get(id).cloned()
    }

    /// Adds a computation and sees it through.
    fn follow(&self, course: Arc<Course>) {
        let mut courses = self.courses.lock().expect("no panic while held");
        // The same draft may be handed in twice at the same time; there is one course of it.
        if let Entry::Vacant(place) = courses.entry(course.id) {
            place.insert(Arc::clone(&course));
            self.tasks.lock().expect("no panic while held").spawn(course.run());
        }
    }

    /// Deletes a computation but for its archive.
    async fn bury(&self, course: &Course) -> Result<(), StoreError> {
        course.bury();
        self.member.config.store.bury(&course.id, course.archive().as_ref()).await?;
        self.courses.lock().expect("no panic while held").remove(&course.id);
        Ok(())
    }
}
