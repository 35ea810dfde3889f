//! A participant: what its device keeps, and what it does with it, by the code that real
//! participants run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::Entry;
use ostrakon_broadcast::hosting::Answer as PollAnswer;
use ostrakon_broadcast::outbox::{Observed, Outbox};
use ostrakon_client::host::{self, ClaimAction, ClaimNews, Claiming};
use ostrakon_client::{Action, Answer, Call, Filled, Follower, Request, Scene, Sight};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::IssueName;
use ostrakon_mixing::{ClientEngine, Content, EpochContext, RoomDescriptor, RoomId, Servers};
use ostrakon_party::{PartyId, Trust};
use ostrakon_protocol::{ServiceError, SubmissionRequest};

use crate::closing::letters::Letters;
use crate::deployment::Deployment;
use crate::engine::trust;
use crate::executor::Executor;
use crate::host::spoil_actions;
use crate::line::Line;
use crate::malice::{spoil_entries, spoil_issued, spoil_status};

/// What the device keeps over a reload of the page.
pub struct Device {
    pub seed: [u8; 32],
    pub key: SigningKey,
    pub outbox: Outbox,
    /// What its user still wants to say.
    pub wishes: Vec<String>,
    /// Whether its page is open.
    pub open: bool,
    /// Grows when the page is loaded anew, which forgets everything else.
    pub loads: u64,
    /// What it handed in, for those who send it again.
    pub said: Vec<(RoomId, u64, SubmissionRequest)>,
    /// Whether it hands in two different things for each of its slots.
    pub cheats: bool,
    /// The key of the invitation in its link.
    pub invitation: Option<SigningKey>,
    /// Polls that it was asked.
    asked: BTreeSet<u64>,
    /// What all servers took, by epoch.
    taken: BTreeMap<u64, Vec<u8>>,
    /// What servers took of what was handed in, by epoch.
    takers: BTreeMap<u64, BTreeMap<PartyId, SubmissionRequest>>,
    /// What it will not say again, since it may be among the erased.
    pub given_up: BTreeSet<String>,
    /// Of one that exchanges messages with somebody: it has a row of its own for every epoch.
    pub letters: Option<Letters>,
}

impl Device {
    pub fn new(seed: [u8; 32], cheats: bool, invitation: Option<SigningKey>) -> Self {
        let key = SigningKey::from_seed(&seed);
        let (outbox, wishes, said, asked, taken, takers, given_up, letters) = Default::default();
        Self {
            seed,
            key,
            outbox,
            wishes,
            open: true,
            loads: 0,
            said,
            cheats,
            invitation,
            asked,
            taken,
            takers,
            given_up,
            letters,
        }
    }
}

/// A participant of one room.
#[derive(Clone)]
pub struct Participant {
    pub line: Line,
    pub device: Arc<Mutex<Device>>,
    pub room: Arc<RoomDescriptor>,
    pub servers: Arc<Servers>,
    pub engine: &'static (dyn ClientEngine + Send + Sync),
    /// Whether no server turns hostile in this run.
    pub honest: bool,
}

/// What a page knows, from its loading on.
struct Page {
    follower: Follower,
    /// What is sent, and when. A cheater has two that do not know of each other.
    machines: Vec<ostrakon_client::Participant>,
    /// The epochs that something was decided for.
    contexts: BTreeMap<u64, EpochContext>,
    claiming: Option<Claiming>,
}

impl Participant {
    fn executor(&self) -> &Executor {
        self.line.executor()
    }

    fn deployment(&self) -> &Deployment {
        &self.line.deployment
    }

    /// Takes part for ever, whenever the page is open.
    pub async fn take_part(self) {
        let mut page = self.load();
        let mut loads = 0;
        loop {
            let (open, current) = {
                let device = self.device.lock().unwrap();
                (device.open, device.loads)
            };
            if current != loads {
                (page, loads) = (self.load(), current);
            }
            if open {
                self.turn(&mut page).await;
            }
            self.line.pause(100, 400).await;
        }
    }

    fn trust(&self) -> Trust {
        trust(self.servers.keys.len())
    }

    fn load(&self) -> Page {
        let follower = Follower::new(self.scene(), self.secret(), u64::MAX);
        let cheats = self.device.lock().unwrap().cheats;
        let machines = (0..if cheats { 2 } else { 1 }).map(|_| self.machine()).collect();
        Page { follower, machines, contexts: BTreeMap::new(), claiming: None }
    }

    fn scene(&self) -> Arc<Scene> {
        let scene = Scene::new((*self.servers).clone(), (*self.room).clone());
        Arc::new(scene.with(self.engine, self.trust()))
    }

    fn secret(&self) -> Secret {
        let mut seed = [0; 32];
        self.executor().draw(|random| random.fill(&mut seed));
        Secret::new(seed)
    }

    fn machine(&self) -> ostrakon_client::Participant {
        let key = SigningKey::from_seed(&self.device.lock().unwrap().seed);
        ostrakon_client::Participant::new(self.scene(), key, self.secret(), None)
    }

    async fn turn(&self, page: &mut Page) {
        self.follow(page).await;
        if let Some(over) = page.follower.over()
            && let Some(letters) = &mut self.device.lock().unwrap().letters
        {
            letters.learn(over);
        }
        let admitted = page.follower.log().admits(&self.device.lock().unwrap().key.verifying_key());
        if !admitted {
            self.claim(page).await;
            return;
        }
        self.answer(page);
        self.wish();
        for which in 0..page.machines.len() {
            self.drive(page, which).await;
        }
    }

    /// Puts the next message into the outbox, once there is room.
    fn wish(&self) {
        let mut device = self.device.lock().unwrap();
        if device.outbox.message().is_none()
            && let Some(text) = device.wishes.first().cloned()
            && device.outbox.put(text.into_bytes()).is_ok()
        {
            device.wishes.remove(0);
        }
    }

    /// Reads what servers show. What an honest one shows is proven.
    async fn follow(&self, page: &mut Page) {
        page.follower.wake(self.executor().now_ms());
        while let Some(sight) = page.follower.next_sight() {
            match sight {
                Sight::Ask(request) => {
                    let (id, answer) = (request.id, self.ask(page, request).await);
                    page.follower.answered(self.executor().now_ms(), id, answer);
                }
                Sight::Entries { entries, .. } => {
                    entries.iter().for_each(|signed| self.observe(&signed.entry));
                }
                Sight::Forged { party, why } => {
                    assert!(self.deployment().is_hostile(party), "{party} shows a forgery: {why}");
                }
                Sight::Heard { .. } | Sight::Actions { .. } | Sight::Informed | Sight::CaughtUp => {
                }
            }
        }
    }

    /// Learns from an entry. What all servers took is in it, or was erased.
    fn observe(&self, entry: &Entry) {
        let mut device = self.device.lock().unwrap();
        let holds = |body: &[u8]| entry.bodies().any(|text| text == body);
        let erased = entry.messages.iter().any(|message| message.body().is_none());
        if let Some(letters) = &mut device.letters {
            letters.read(entry);
        }
        let taken = device.taken.remove(&entry.epoch.number);
        let there = taken.is_none_or(|body| holds(&body));
        assert!(
            there || erased || !self.honest,
            "what all servers took for an epoch is not published"
        );
        let message = device.outbox.message().map(<[u8]>::to_vec);
        if device.outbox.observe(entry) == Observed::Published {
            let text = message.expect("it was published");
            if !holds(&text) {
                device.given_up.insert(String::from_utf8(text).expect("a text"));
            }
        }
    }

    /// Tells a machine what the servers say, and does what it asks for.
    async fn drive(&self, page: &mut Page, which: usize) {
        let now = self.executor().now_ms();
        for party in self.deployment().parties() {
            page.machines[which].heard(now, party, page.follower.status(party));
        }
        while let Some(action) = page.machines[which].next_action() {
            match action {
                Action::Ask(request) => {
                    let (id, answer) = (request.id, self.ask(page, request).await);
                    page.machines[which].answered(self.executor().now_ms(), id, answer);
                }
                Action::Fill(context) => {
                    let filled = self.fill(&context, which);
                    let number = context.epoch.number;
                    page.contexts.insert(number, context);
                    page.machines[which].filled(self.executor().now_ms(), number, filled);
                }
                Action::Tell(_) => {}
            }
        }
    }

    /// Decides what goes into an epoch: of a cheater something that says so, and which it is.
    fn fill(&self, context: &EpochContext, which: usize) -> Filled {
        let mut device = self.device.lock().unwrap();
        let Device { key, outbox, cheats, letters, .. } = &mut *device;
        let number = context.epoch.number;
        if *cheats {
            let name = key.verifying_key().to_hex();
            let text = format!("cheat {} {number} {which}", name.split_at(8).0);
            return Filled::Row(Content::Message(text.into_bytes()));
        }
        if letters.as_mut().is_some_and(|letters| !letters.fill(outbox, number)) {
            return Filled::Nothing;
        }
        let content = outbox.content_among(number, context.minimum);
        content.map_or(Filled::Nothing, Filled::Row)
    }

    async fn ask(&self, page: &Page, request: Request) -> Answer {
        let (room, party) = (self.room.id(), request.party);
        match request.call {
            // Nobody waits for news here: other things have their turns.
            Call::Status | Call::News { .. } => {
                let status = self.line.ask(party, "status", 0, |server| {
                    async move { server.status(room, 0, Duration::ZERO).await }.boxed()
                });
                told(status.await, |status| {
                    let status = self.deployment().spoil(party, status, spoil_status);
                    Answer::Status(Box::new(status))
                })
            }
            Call::Board { from } => {
                let page = self.line.ask(party, "board", from, |server| {
                    async move { server.board(room, from, Duration::ZERO).await }.boxed()
                });
                let page = page.await;
                self.deployment().expect_no_damage(party, &page);
                told(page, |page| {
                    Answer::Board(self.deployment().spoil(party, page.entries, spoil_entries))
                })
            }
            Call::Actions { from } => {
                let page = self.line.ask(party, "actions", from, |server| {
                    async move { server.actions(room, from).await }.boxed()
                });
                told(page.await, |page| {
                    Answer::Actions(self.deployment().spoil(party, page.actions, spoil_actions))
                })
            }
            Call::Presence(presence) => {
                let answer = self.line.ask(party, "presence", 0, |server| {
                    async move { server.presence(room, presence).await }.boxed()
                });
                told(answer.await, |_| Answer::Present)
            }
            Call::Issue { epoch, request } => {
                let exchange = request.exchange;
                let answer = self.line.ask(party, "issue", epoch, |server| {
                    async move { server.issue(room, epoch, request).await }.boxed()
                });
                told(answer.await, |issue| {
                    Answer::Issue(self.perhaps_spoilt(party, epoch, &exchange, issue.issue))
                })
            }
            Call::Submit { epoch, request } => self.submit(page, party, epoch, request).await,
        }
    }

    /// What a server gives; if it lies just now, something else that it has signed as well.
    fn perhaps_spoilt(
        &self,
        party: PartyId,
        number: u64,
        exchange: &[u8; 32],
        bytes: Vec<u8>,
    ) -> Vec<u8> {
        let name = IssueName { room: self.room.id(), number, party };
        let key = &self.device.lock().unwrap().key;
        let opened = envelope::open(&self.servers, &name, key, &bytes);
        let issued = opened.expect("a server makes what it gives itself");
        let spoilt = self.deployment().spoil(party, issued.clone(), spoil_issued);
        if spoilt == issued {
            return bytes;
        }
        let server = self.deployment().key(party);
        let owner = key.verifying_key();
        let sign = |digest: &Digest| server.sign(digest);
        let offer = envelope::offer(&self.servers, &name, &owner, spoilt, sign);
        envelope::close(&self.servers, &name, &owner, exchange, &offer, [5; 32])
    }

    async fn submit(
        &self,
        page: &Page,
        party: PartyId,
        epoch: u64,
        request: SubmissionRequest,
    ) -> Answer {
        let room = self.room.id();
        let cheats = self.device.lock().unwrap().cheats;
        if !cheats {
            self.note(page, epoch, &request);
        }
        if self.deployment().forgets(party) {
            return Answer::Taken;
        }
        let (length, sent) = (request.body.len() as u64, request.clone());
        let answer = self.line.ask(party, "submit", length, |server| {
            async move { server.submit(room, epoch, sent).await }.boxed()
        });
        match answer.await {
            Some(Ok(_)) => self.taken(party, epoch, request),
            Some(Err(ServiceError::Refused(reason))) if !cheats => {
                panic!("an honest submission is refused: {reason}")
            }
            // The epoch is over, or it cannot be taken now.
            other => told(other, |_| Answer::Taken),
        }
    }

    /// Notes what an honest device hands in, once.
    fn note(&self, page: &Page, epoch: u64, request: &SubmissionRequest) {
        let mut device = self.device.lock().unwrap();
        let said = (self.room.id(), epoch, request.clone());
        if !device.said.contains(&said) {
            let batch = page.contexts[&epoch].batch;
            self.deployment().ledger.submits(batch, request.slot, &request.body);
            device.said.push(said);
        }
    }

    /// A server has what was handed in. What all of them have is to be published; of a cheater's
    /// two submissions none takes both.
    fn taken(&self, party: PartyId, epoch: u64, request: SubmissionRequest) -> Answer {
        let mut device = self.device.lock().unwrap();
        let takers = device.takers.entry(epoch).or_default();
        let before = takers.insert(party, request.clone());
        assert!(
            before.is_none_or(|before| before == request),
            "{party} takes two submissions for one slot"
        );
        let all = takers.len() == self.servers.keys.len();
        if all
            && !device.cheats
            && let Some(Content::Message(body)) = device.outbox.content(epoch)
        {
            device.taken.insert(epoch, body);
        }
        Answer::Taken
    }
}

/// What a service says, as HTTP would carry it.
fn told<T>(answer: Option<Result<T, ServiceError>>, take: impl FnOnce(T) -> Answer) -> Answer {
    match answer {
        Some(Ok(answer)) => take(answer),
        Some(Err(error)) => Answer::Refused(error.status()),
        None => Answer::Nothing,
    }
}

impl Participant {
    /// Takes the invitation of its link, once the host has made it and while nobody has taken it.
    async fn claim(&self, page: &mut Page) {
        let keys = {
            let device = self.device.lock().unwrap();
            let Some(invitation) = &device.invitation else { return };
            let keys = (invitation.verifying_key(), device.key.verifying_key());
            let known = page.follower.log().invitations().get(&keys.0);
            if known.is_none_or(|known| known.claimed.is_some()) {
                return;
            }
            let begin = || Claiming::new(self.scene(), invitation, &device.key, self.secret());
            page.claiming.get_or_insert_with(begin);
            keys
        };
        let Some(claiming) = &mut page.claiming else { return };
        claiming.wake(self.executor().now_ms());
        while let Some(action) = claiming.next_action() {
            match action {
                ClaimAction::Ask(host::Request { id, party, call: host::Call::Claim(claim) }) => {
                    let room = self.room.id();
                    let answer = self.line.ask(party, "claim", 0, |server| {
                        async move { server.claim(room, *claim).await }.boxed()
                    });
                    let answer = crate::host::told(answer.await, |_| host::Answer::Taken);
                    claiming.answered(self.executor().now_ms(), id, answer);
                }
                ClaimAction::Tell(ClaimNews::Taken) => {
                    self.deployment().ledger.takes_claim(keys.0, keys.1);
                }
                ClaimAction::Tell(_) => {}
                ClaimAction::Ask(_) => unreachable!("it asks for nothing else"),
            }
        }
    }

    /// Answers polls, most of them, each with the option that is this participant's.
    fn answer(&self, page: &Page) {
        let mut device = self.device.lock().unwrap();
        if device.cheats {
            return;
        }
        for (id, state) in page.follower.log().polls() {
            let option = u8::try_from(self.line.number).expect("polls are asked of few");
            if state.withdrawn {
                device.outbox.withdraw(*id);
            } else if device.asked.insert(*id) && self.executor().draw(|random| random.chance(80)) {
                let body = PollAnswer::Choice([option].into())
                    .encode(*id, &state.poll)
                    .expect("there is such an option");
                if device.outbox.answer(*id, state.poll.epoch, body).is_ok() {
                    self.deployment().ledger.answers(*id, option);
                }
            }
        }
    }
}
