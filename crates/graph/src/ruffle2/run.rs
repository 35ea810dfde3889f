//! One server's view of one phase of a job: sending and receiving by kind of message.

use bytes::Bytes;
use futures::future::{Either, join, select};
use ostrakon_crypto::Digest;
use ostrakon_party::{Body, Instance, Party, PartyId, Received, SignedHeader, Tag, wire};
use ostrakon_replicated::pair::Pair;

use super::fault::{Evidence, Stop};
use super::steps::{DIGEST, Kind, Rule, addressed_rightly};

/// Most bytes of an echo, of evidence, and of a signed header in a body.
const STATEMENT: u64 = 4096;

/// A phase of a job as one server sees it.
#[derive(Clone)]
pub struct Run {
    /// The server.
    pub party: Party,
    /// The phase.
    pub instance: Instance,
}

impl Run {
    /// The server's number.
    pub fn me(&self) -> u8 {
        self.party.id.0
    }

    /// The two peers' numbers, in order.
    pub fn peers(&self) -> [u8; 2] {
        Pair::without(self.me()).members()
    }

    fn tag(&self, kind: Kind, sequence: u32) -> Tag {
        Tag { instance: self.instance, step: kind.step(), sequence }
    }

    /// Sends a message to one peer.
    pub fn send(&self, to: u8, kind: Kind, sequence: u32, body: impl Into<Body>) -> SignedHeader {
        self.party.send(PartyId(to), self.tag(kind, sequence), body)
    }

    /// Sends one statement to both peers.
    pub fn send_all(&self, kind: Kind, sequence: u32, body: impl Into<Body>) -> SignedHeader {
        self.party.send_all(self.tag(kind, sequence), body)
    }

    /// Receives a peer's message and checks it against its rule.
    ///
    /// # Errors
    /// [`Stop::Malformed`].
    pub async fn receive(
        &self,
        from: u8,
        kind: Kind,
        sequence: u32,
        rule: Rule,
    ) -> Result<Received, Stop> {
        self.receive_tag(from, self.tag(kind, sequence), rule).await
    }

    async fn receive_tag(&self, from: u8, tag: Tag, rule: Rule) -> Result<Received, Stop> {
        let malformed = |signed| Stop::Malformed(Box::new(signed));
        let received = self.party.receive(PartyId(from), tag, rule.length).await;
        let received = received.map_err(|refused| malformed(refused.0))?;
        let wellformed =
            addressed_rightly(&received.signed.header) && (rule.content)(&received.body);
        if wellformed { Ok(received) } else { Err(malformed(received.signed)) }
    }

    /// Receives both peers' messages of one kind, in the order of [`Run::peers`].
    ///
    /// # Errors
    /// [`Stop::Malformed`].
    pub async fn receive_both(
        &self,
        kind: Kind,
        sequence: u32,
        rule: Rule,
    ) -> Result<[Received; 2], Stop> {
        let [a, b] = self.peers();
        let both =
            join(self.receive(a, kind, sequence, rule), self.receive(b, kind, sequence, rule));
        let (a, b) = both.await;
        Ok([a?, b?])
    }

    /// Receives a table from one server and its digest from another.
    ///
    /// # Errors
    /// [`Evidence::Conflict`] if they differ; [`Stop::Malformed`].
    pub async fn receive_vouched(
        &self,
        (table, digest): (Kind, Kind),
        (table_from, digest_from): (u8, u8),
        sequence: u32,
        rule: Rule,
    ) -> Result<Bytes, Stop> {
        let both = join(
            self.receive(table_from, table, sequence, rule),
            self.receive(digest_from, digest, sequence, Rule::exactly(DIGEST)),
        );
        let (table, digest) = both.await;
        let (table, digest) = (table?, digest?);
        let stated = Digest(digest.body[..].try_into().expect("32 bytes"));
        if stated == table.digest() {
            return Ok(table.body);
        }
        let (table, digest) = (Box::new(table.signed), Box::new(digest.signed));
        Err(Stop::Evidence(Evidence::Conflict { table, digest, stated }))
    }

    /// Authenticated broadcast, all three servers at once: everybody sends its statement to both
    /// peers, then both peers the signed headers that it received. Honest servers that return have
    /// the same three statements (`docs/spec/ruffle.md`, 10.2). Returns them by server.
    ///
    /// # Errors
    /// [`Evidence::Equivocation`] or [`Stop::Malformed`].
    pub async fn broadcast(
        &self,
        kind: Kind,
        sequence: u32,
        body: impl Into<Bytes>,
        rule: Rule,
    ) -> Result<[Received; 3], Stop> {
        let body = body.into();
        let own = Received { signed: self.send_all(kind, sequence, body.clone()), body };
        let theirs = self.receive_both(kind, sequence, rule).await?;
        let seen = theirs.each_ref().map(|received| received.signed);
        let echo = Tag { step: kind.echo(), ..self.tag(kind, sequence) };
        self.party.send_all(echo, wire::encode(&seen));
        let statements = self.in_order(own, theirs);
        let [a, b] = self.peers();
        let echoes = join(
            self.receive_tag(a, echo, Rule::at_most(STATEMENT)),
            self.receive_tag(b, echo, Rule::at_most(STATEMENT)),
        );
        let (from_a, from_b) = echoes.await;
        for echoed in [from_a?, from_b?] {
            self.compare(kind, sequence, &statements, &echoed)?;
        }
        Ok(statements)
    }

    /// Compares what a peer has heard with what was heard here.
    fn compare(
        &self,
        kind: Kind,
        sequence: u32,
        statements: &[Received; 3],
        echoed: &Received,
    ) -> Result<(), Stop> {
        let malformed = || Stop::Malformed(Box::new(echoed.signed));
        let headers: [SignedHeader; 2] = wire::decode(&echoed.body).map_err(|_| malformed())?;
        let heard_from = Pair::without(echoed.signed.header.from.0).members();
        for (from, signed) in heard_from.into_iter().zip(headers) {
            let header = &signed.header;
            let own_words = header.from == PartyId(from)
                && header.tag == self.tag(kind, sequence)
                && addressed_rightly(header)
                && self.party.roster.vouches(&signed);
            if !own_words {
                return Err(malformed());
            }
            let direct = statements[usize::from(from)].signed;
            if from != self.me() && direct.contradicts(&signed) {
                let both = Box::new([direct, signed]);
                return Err(Stop::Evidence(Evidence::Equivocation(both)));
            }
        }
        Ok(())
    }

    /// Signs a digest and waits until both peers have signed the same one.
    ///
    /// # Errors
    /// [`Stop::Broken`] if a peer has signed another one.
    pub async fn vote(
        &self,
        sequence: u32,
        what: &'static str,
        digest: &Digest,
    ) -> Result<(), Stop> {
        self.send_all(Kind::Vote, sequence, digest.0.to_vec());
        let votes = self.receive_both(Kind::Vote, sequence, Rule::exactly(DIGEST)).await?;
        match votes.iter().find(|vote| vote.body[..] != digest.0) {
            Some(other) => Err(Stop::Broken(other.signed.header.from, what)),
            None => Ok(()),
        }
    }

    fn in_order<T>(&self, own: T, [a, b]: [T; 2]) -> [T; 3] {
        match self.me() {
            0 => [own, a, b],
            1 => [a, own, b],
            _ => [a, b, own],
        }
    }

    /// Runs `main` unless a peer shows evidence that accuses somebody else first. Evidence that is
    /// found here is shown to both peers.
    ///
    /// # Errors
    /// Whatever `main` stops for, or the peer's evidence, which has been checked.
    pub async fn with_accusations<T>(
        &self,
        main: impl Future<Output = Result<T, Stop>>,
    ) -> Result<T, Stop> {
        let [a, b] = self.peers();
        let heard = select(Box::pin(self.accusation(a)), Box::pin(self.accusation(b)));
        let result = match select(Box::pin(main), heard).await {
            Either::Left((result, _)) => result,
            Either::Right((evidence, _)) => Err(Stop::Evidence(evidence.factor_first().0)),
        };
        if let Err(Stop::Evidence(evidence)) = &result {
            self.send_all(Kind::Accusation, 0, evidence.encode());
        }
        result
    }

    /// Waits for a peer's accusation that proves something. One that does not is ignored.
    async fn accusation(&self, from: u8) -> Evidence {
        let rule = Rule::at_most(STATEMENT);
        if let Ok(received) = self.receive(from, Kind::Accusation, 0, rule).await
            && let Ok(evidence) = Evidence::decode(&received.body)
            && let Some(accused) = evidence.accused(&self.party.roster, &self.instance)
            && accused != super::fault::Accused::One(self.party.id)
        {
            return evidence;
        }
        futures::future::pending().await
    }
}
