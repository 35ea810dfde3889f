//! One party's view of one run: sending and receiving by step, under the protocol's rules.

use bytes::Bytes;
use futures::future::{Either, join, select, select_all};
use ostrakon_party::{Body, Party, PartyId, Received, SignedHeader, Step, Tag, wire};

use crate::marks::{Marks, epoch_mark};
use crate::offence::{Offence, Statement};
use crate::pair::Pair;
use crate::protocol::{self, Protocol, steps};
use crate::stop::{Stop, Unheard};

/// How the marks' names begin that say what a broadcast has heard; its step follows.
pub const HEARD: &str = "heard ";

/// A run as one party sees it.
#[derive(Clone)]
pub struct Run<P> {
    /// The party.
    pub party: Party,
    /// What the run is about.
    pub subject: P,
}

impl<P: Protocol> Run<P> {
    /// The party's number.
    pub fn me(&self) -> u8 {
        self.party.id.0
    }

    /// The tag of a step in this run.
    pub fn tag(&self, step: impl Into<Step>) -> Tag {
        self.subject.tag_of(step.into())
    }

    /// A fault in this run.
    pub fn fault(&self, culprit: PartyId, evidence: impl Into<P::Evidence>) -> P::Fault {
        self.subject.fault(culprit, evidence.into())
    }

    /// Sends a message to one peer.
    pub fn send(&self, to: u8, step: impl Into<Step>, body: impl Into<Body>) -> SignedHeader {
        self.party.send(PartyId(to), self.tag(step), body)
    }

    /// Sends one statement to both peers.
    pub fn send_all(&self, step: impl Into<Step>, body: impl Into<Body>) -> SignedHeader {
        self.party.send_all(self.tag(step), body)
    }

    /// Holds a message ready for a peer that may not need it.
    pub fn offer(&self, to: u8, step: impl Into<Step>, body: impl Into<Body>) -> SignedHeader {
        self.party.offer(PartyId(to), self.tag(step), body)
    }

    /// Receives a peer's message of a kind and checks its length and content.
    ///
    /// # Errors
    /// [`Offence::Malformed`] against the peer.
    pub async fn receive(&self, from: u8, step: impl Into<Step>) -> Result<Received, P::Fault> {
        self.receive_tag(PartyId(from), self.tag(step)).await
    }

    /// Receives a peer's message under a tag of this run and checks it.
    ///
    /// # Errors
    /// [`Offence::Malformed`] against the peer.
    pub async fn receive_tag(&self, from: PartyId, tag: Tag) -> Result<Received, P::Fault> {
        self.receive_known(from, tag, None).await
    }

    /// The same of a message that may say what this party says.
    async fn receive_known(
        &self,
        from: PartyId,
        tag: Tag,
        known: Option<&Body>,
    ) -> Result<Received, P::Fault> {
        let length = self.subject.length(tag.step);
        let received = match self.party.receive_known(from, tag, length, known).await {
            Ok(received) => received,
            Err(refused) => {
                let statement = Statement { signed: refused.0, body: Vec::new() };
                return Err(self.fault(from, Offence::Malformed(Box::new(statement))));
            }
        };
        let roster = &self.party.roster;
        if !P::addressed_rightly(&received.signed.header) {
            let statement = Statement { signed: received.signed, body: Vec::new() };
            return Err(self.fault(from, Offence::Malformed(Box::new(statement))));
        }
        if !protocol::content_is_wellformed(&self.subject, roster, &received.signed, &received.body)
        {
            return Err(self.fault(from, Offence::Malformed(Box::new((&received).into()))));
        }
        Ok(received)
    }

    /// Authenticated broadcast, all three parties at once (Dolev–Strong for one traitor, with
    /// signatures), in a run that no party goes on with after a crash, or of something that nothing
    /// depends on but its maker's guilt.
    ///
    /// Round 1: everybody sends its statement to both peers. Round 2: everybody sends both peers
    /// the signed headers that it received. A party that said different things to the two is
    /// convicted by its own signatures, or, if the step does not bind ([`Protocol::binds`]), waited
    /// for without end; otherwise both honest parties return the same statements. Returns all
    /// three, by party, the own one included.
    ///
    /// # Errors
    /// [`Offence::Equivocation`] or [`Offence::Malformed`].
    pub async fn broadcast(
        &self,
        step: impl Into<Step>,
        body: impl Into<Bytes>,
    ) -> Result<[Received; 3], P::Fault> {
        let step = step.into();
        let statements = self.exchanged(step, body.into()).await?;
        self.echoed(step, statements).await
    }

    /// The same over crashes: what is heard is on record before it is echoed, so this party echoes
    /// one word of each, however often it is restarted, and whoever returns returns the same. The
    /// step must bind, and the own statement be the same after a crash: a party that has another
    /// one on record has signed two, and goes no further.
    ///
    /// # Errors
    /// As [`Run::broadcast`], also against who said something else before a crash of this party; or
    /// the record could not be written.
    pub async fn broadcast_recorded(
        &self,
        step: impl Into<Step>,
        body: impl Into<Bytes>,
        marks: &dyn Marks,
    ) -> Result<[Received; 3], Unheard<P::Fault>> {
        let step = step.into();
        debug_assert!(P::binds(&self.tag(step)), "two words of it are evidence");
        let statements = self.exchanged(step, body.into()).await?;
        let heard = headers(&statements);
        let before = self.on_record(step, &heard, marks)?;
        let own = usize::from(self.me());
        if before[own].contradicts(&heard[own]) {
            return futures::future::pending().await;
        }
        for (before, now) in before.into_iter().zip(heard) {
            if before.contradicts(&now) {
                let two = Offence::Equivocation(Box::new([before, now]));
                return Err(self.fault(now.header.from, two).into());
            }
        }
        Ok(self.echoed(step, statements).await?)
    }

    /// Marks what was heard under a step, unless something stands there; returns what stands.
    fn on_record(
        &self,
        step: Step,
        heard: &[SignedHeader; 3],
        marks: &dyn Marks,
    ) -> Result<[SignedHeader; 3], Unheard<P::Fault>> {
        let name = epoch_mark(&self.subject.instance(), &format!("{HEARD}{:04x}", step.0));
        let standing = marks.record(&name, &wire::encode(heard)).map_err(Unheard::Marks)?;
        wire::decode(&standing).map_err(|_| Unheard::Marks(format!("{name} is damaged")))
    }

    /// Round 1 of a broadcast.
    async fn exchanged(&self, step: Step, body: Bytes) -> Result<[Received; 3], P::Fault> {
        let said = Body::new(body);
        let own =
            Received { signed: self.send_all(step, said.clone()), body: said.bytes().clone() };
        let tag = self.tag(step);
        // Long lists are mostly the same ones.
        let hear = |peer: u8| self.receive_known(PartyId(peer), tag, Some(&said));
        let [a, b] = self.peers();
        let (from_a, from_b) = join(hear(a), hear(b)).await;
        Ok(self.in_order(own, from_a?, from_b?))
    }

    /// Round 2 of a broadcast. An echo is a word that depends on what was heard.
    async fn echoed(
        &self,
        step: Step,
        statements: [Received; 3],
    ) -> Result<[Received; 3], P::Fault> {
        let [a, b] = self.peers();
        let seen = [a, b].map(|peer| statements[usize::from(peer)].signed);
        let echo_tag = self.tag(protocol::echo(step));
        self.party.send_all(echo_tag, wire::encode(&seen));
        let echoes =
            join(self.receive_tag(PartyId(a), echo_tag), self.receive_tag(PartyId(b), echo_tag))
                .await;
        for (echoing, echo) in [(a, echoes.0?), (b, echoes.1?)] {
            let headers = protocol::decode_echo(
                &self.party.roster,
                self.tag(step),
                PartyId(echoing),
                &echo.body,
            );
            for header in headers.expect("receive_tag has checked the content") {
                let direct = &statements[header.header.from.index()].signed;
                if header.header.from == self.party.id || !direct.contradicts(&header) {
                    continue;
                }
                if !P::binds(&header.header.tag) {
                    // It may be that an honest server was restarted; what cannot be said is which
                    // of the statements counts.
                    return futures::future::pending().await;
                }
                let two = Offence::Equivocation(Box::new([*direct, header]));
                return Err(self.fault(header.header.from, two));
            }
        }
        Ok(statements)
    }

    /// The two peers' numbers, in order.
    pub fn peers(&self) -> [u8; 2] {
        let pair = Pair::without(self.me());
        pair.members()
    }

    fn in_order(&self, own: Received, a: Received, b: Received) -> [Received; 3] {
        match self.me() {
            0 => [own, a, b],
            1 => [a, own, b],
            _ => [a, b, own],
        }
    }

    /// The first acceptable message of a kind from two sources that should say the same. The second
    /// one is asked only after patience with the first has run out, or when the first one's message
    /// was not acceptable.
    ///
    /// Faults of a source are returned beside the result; they stop nothing.
    pub async fn receive_from_either<T>(
        &self,
        sources: [u8; 2],
        step: impl Into<Step>,
        accept: impl Fn(&Received) -> Result<T, P::Evidence>,
    ) -> (T, Vec<P::Fault>) {
        let step = step.into();
        let mut faults = Vec::new();
        let mut judge =
            |from: u8, result: Result<Received, P::Fault>| match result.and_then(|received| {
                accept(&received).map_err(|evidence| self.fault(PartyId(from), evidence))
            }) {
                Ok(value) => Some(value),
                Err(fault) => {
                    faults.push(fault);
                    None
                }
            };
        let first = Box::pin(self.receive(sources[0], step));
        let patience = Box::pin(self.party.patience());
        let (mut pending, mut used) = match select(first, patience).await {
            Either::Left((result, _)) => match judge(sources[0], result) {
                Some(value) => return (value, faults),
                None => (Vec::new(), vec![sources[0]]),
            },
            Either::Right(((), first)) => (vec![(sources[0], first)], Vec::new()),
        };
        pending.push((sources[1], Box::pin(self.receive(sources[1], step))));
        while !pending.is_empty() {
            let (names, futures): (Vec<u8>, Vec<_>) = pending.into_iter().unzip();
            let (result, which, rest) = select_all(futures).await;
            if let Some(value) = judge(names[which], result) {
                return (value, faults);
            }
            used.push(names[which]);
            pending = names.into_iter().filter(|n| !used.contains(n)).zip(rest).collect();
        }
        // Both sources are proved to have cheated, which the trust model excludes: there is nothing
        // to go on with.
        futures::future::pending().await
    }

    /// Runs `main`, of which nothing depends on inputs yet, unless a peer shows evidence of a fault
    /// first. A fault found here is shown to both peers.
    ///
    /// # Errors
    /// Whatever `main` stops for, or the peer's evidence, which has been checked.
    pub async fn with_accusations<T>(
        &self,
        main: impl Future<Output = Result<T, Stop<P::Fault>>>,
    ) -> Result<T, Stop<P::Fault>> {
        let [a, b] = self.peers();
        let heard = Box::pin(either(self.accusation(a), self.accusation(b)));
        let result = match select(Box::pin(main), heard).await {
            Either::Left((result, _)) => result,
            Either::Right((fault, _)) => Err(fault.into()),
        };
        if let Err(Stop::Fault(fault)) = &result {
            self.send_all(steps::ACCUSATION, P::show(fault));
        }
        result
    }

    /// [`Run::accusation`], with who made it.
    pub async fn accused_by(&self, by: u8) -> (P::Fault, Option<u8>) {
        (self.accusation(by).await, Some(by))
    }

    /// The honest peer, given that the other one is the culprit.
    pub fn honest_beside(&self, culprit: PartyId) -> u8 {
        self.peers()
            .into_iter()
            .find(|peer| *peer != culprit.0)
            .expect("two peers, one of them the culprit")
    }

    /// Waits for a peer's accusation that proves something. One that does not is ignored.
    pub async fn accusation(&self, from: u8) -> P::Fault {
        if let Ok(received) = self.receive(from, steps::ACCUSATION).await
            && let Some(fault) =
                self.subject.heed(&self.party.roster, self.party.id, &received.body)
        {
            return fault;
        }
        futures::future::pending().await
    }
}

fn headers(statements: &[Received; 3]) -> [SignedHeader; 3] {
    statements.each_ref().map(|statement| statement.signed)
}

/// Whichever of two is ready first.
pub async fn either<T>(a: impl Future<Output = T>, b: impl Future<Output = T>) -> T {
    select(Box::pin(a), Box::pin(b)).await.factor_first().0
}
