//! One epoch on one server (`docs/spec/clarion.md`, E0 to E15).

use futures::future::{Either, pending, select, try_join, try_join3};
use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Body, Party, PartyId, Received, SignedHeader, wire};
use ostrakon_threeparty::marks::epoch_mark;
use ostrakon_threeparty::run::either;
use ostrakon_threeparty::{Offence, coin};

use super::checks::{Checks, Made, place};
use super::fault::{Abort, Fault};
use super::halt::Halt;
use super::handed;
use super::handed::looked::opened;
use super::keys::{BatchKeys, EpochKeys};
use super::messages::{EpochSpec, Kind, Subject, TABLES, decode_tables, stated_by};
use super::opening::Opening;
use super::outcome::{self, Outcome, Standing};
use super::purposes::Purpose;
use super::registration::{self, Run};
use super::sealing::{Begun, Epoch, OTHER_ROUND, left, row_with, rows};
use super::tables::{Mixing, Pads, Row, columns};
use super::{P1, P2};
use crate::client::PadContext;

pub use super::halt::Unmixed;
pub use super::handed::prints::Prints;
pub use super::handed::{Joint, Looking, Seen};
pub use super::intake::{Refused, TakenIn, check, verify_signature};
pub use super::sealing::{Participants, Registering, spent_mark};
pub use ostrakon_threeparty::Marks;

/// Whether, by its marks, this server may have let somebody read messages of the epoch. It has not
/// if it never was ready, or if it stopped.
pub fn may_have_opened(spec: &EpochSpec, marks: &[(String, Vec<u8>)]) -> bool {
    let name = epoch_mark(&spec.instance(), "outcome");
    marks.iter().any(|(mark, value)| *mark == name && outcome::is_ready(value))
}

/// Mixes. After a crash the same call with the same slots, registry and batch continues: what this
/// server sends again is what it sent before.
///
/// Marks, each written before the message that depends on it is sent: its contribution to the coin;
/// what it heard of all commitments to it, of the lists, and of the signatures where these differ;
/// the sealed list; what the batch is spent on; the header of each table received; what it heard of
/// the coin's openings; the outcome and the certificate.
///
/// `randomness` is 32 fresh random bytes.
///
/// If this server was ready before a crash, and its store tells so ([`Marks::standing`]), it says
/// so again at once, or that it has stopped: it may be what the others wait for.
///
/// # Errors
/// [`Unmixed`].
pub async fn mix(
    party: &Party,
    batch: BatchKeys,
    spec: EpochSpec,
    participants: Participants<'_>,
    marks: &dyn Marks,
    randomness: [u8; 32],
) -> Result<Mixed, Unmixed> {
    if batch.number() != spec.batch {
        return Err(Unmixed::Spent);
    }
    let run = Run { party: party.clone(), subject: Subject::Epoch(spec) };
    if !run.subject.is_valid() {
        return Err(Unmixed::Unfit("its size is not within the limits"));
    }
    let outcome = Outcome { run: &run, marks };
    let epoch = Epoch { run: &run, spec: &spec, marks };
    let mixing = epoch.checked(batch.epoch(&spec), participants, randomness);
    let state = match outcome.standing()? {
        Some(Standing::Ready(digest)) => resumed(outcome, &digest, mixing).await?,
        Some(Standing::Stopped(by, why)) => return Err(outcome.stopped(by, why)),
        None => {
            let (mixed, heard) = until_ready(&run, outcome, mixing).await?;
            outcome.certify(&mixed.ready, heard).await?;
            mixed
        }
    };
    Ok(Mixed { run, state })
}

/// For a server that was ready before a crash: repeats the mix, for which it needs its peers, and
/// beside it says that it is ready, for which it needs its marks alone.
async fn resumed(
    outcome: Outcome<'_>,
    ready: &Digest,
    mixing: impl Future<Output = Result<Checked, Halt>>,
) -> Result<Checked, Unmixed> {
    let certifying = Box::pin(outcome.certify(ready, None));
    let finished = match select(certifying, Box::pin(mixing)).await {
        Either::Left((certified, mixing)) => {
            certified?;
            mixing.await
        }
        Either::Right((Err(Halt::End(unmixed)), _)) => return Err(unmixed),
        Either::Right((finished, certifying)) => {
            certifying.await?;
            finished
        }
    };
    match finished {
        Ok(checked) if checked.ready == *ready => Ok(checked),
        Err(Halt::End(unmixed)) => Err(unmixed),
        // A peer shows other things than before: who has the tables publishes.
        Ok(_) | Err(Halt::Stop(_)) => pending().await,
    }
}

/// Runs the computation unless a peer stops first, and marks the outcome. A server that was ready
/// before a crash no longer stops alone; it then returns, beside what it mixed, who has stopped.
async fn until_ready(
    run: &Run,
    outcome: Outcome<'_>,
    mixing: impl Future<Output = Result<Checked, Halt>>,
) -> Result<(Checked, Option<u8>), Unmixed> {
    let [a, b] = run.peers();
    let heard = Box::pin(either(outcome::abort(run, a), outcome::abort(run, b)));
    let (finished, heard) = match select(Box::pin(mixing), heard).await {
        Either::Left((finished, _)) => (finished, None),
        Either::Right(((by, why), mixing)) => {
            outcome.stop(by, checked_reason(run, by, why))?;
            (mixing.await, Some(by.0))
        }
    };
    let ready = match finished {
        Ok(checked) => match outcome.settle(&Standing::Ready(checked.ready))? {
            Standing::Ready(before) if before == checked.ready => return Ok((checked, heard)),
            Standing::Ready(before) => before,
            Standing::Stopped(by, why) => return Err(outcome.stopped(by, why)),
        },
        Err(Halt::Stop(why)) => outcome.stop(run.party.id, why)?,
        Err(Halt::End(unmixed)) => return Err(unmixed),
    };
    // Ready before a crash, and without the tables now: if all are, who has them publishes.
    outcome.certify(&ready, heard).await?;
    pending().await
}

/// A peer's reason, if it stands by itself; otherwise that it has stopped.
fn checked_reason(run: &Run, by: PartyId, why: Abort) -> Abort {
    let roster = &run.party.roster;
    match &why {
        Abort::Fault(fault)
            if fault.subject == run.subject
                && fault.culprit != run.party.id
                && fault.verify(roster) =>
        {
            why
        }
        Abort::Contradiction(found) if found.pair(roster, &run.subject).is_some() => why,
        Abort::Fault(_) | Abort::Contradiction(_) => Abort::Told,
        // On a peer's word alone only a pair that it is in is suspected.
        Abort::Keys(pair) | Abort::Seeds(pair) if !pair.contains(by.0) => Abort::Told,
        _ => why,
    }
}

/// A mixed and checked table on one server, which all three servers are ready to open.
pub struct Mixed {
    run: Run,
    state: Checked,
}

/// The rows in their new order.
pub struct Opened {
    /// All sealed rows.
    pub table: Vec<u8>,
    /// How many they are.
    pub accepted: u32,
    /// What was proved against a server on the way.
    pub faults: Vec<Fault>,
}

impl Mixed {
    /// Opens the rows (E15).
    pub async fn open(self) -> Opened {
        let Checked { mixing, made, seeds, tables, z1, .. } = self.state;
        let opening =
            Opening { run: &self.run, mixing: &mixing, made, seeds: &seeds, tables: &tables, z1 };
        let (table, faults) = opening.run().await;
        Opened { table, accepted: mixing.rows as u32, faults }
    }
}

/// What a server holds once every check has passed.
struct Checked {
    ready: Digest,
    mixing: Mixing,
    made: Made,
    seeds: [Received; 3],
    tables: [Received; 3],
    z1: Digest,
}

impl Epoch<'_> {
    /// E0 to E13.
    async fn checked(
        &self,
        keys: EpochKeys,
        participants: Participants<'_>,
        randomness: [u8; 32],
    ) -> Result<Checked, Halt> {
        match participants {
            Participants::Registered(registry, slots) => {
                let (slots, held) = self.registered(registry, slots)?;
                let (begun, (accepted, taken)) = self.listed(&keys, &slots, randomness).await?;
                let digest = self.seal(&accepted, accepted.digest()).await?;
                let pads = {
                    let rows = rows(&slots, &held, &accepted, &taken);
                    self.pads(rows.len(), |row| rows[row])
                };
                drop((accepted, taken));
                drop(slots);
                self.mixed(keys, begun, digest, pads).await
            }
            Participants::Registering(registering) => {
                self.registering(keys, registering, randomness).await
            }
        }
    }

    /// J1 to J4, and what follows.
    async fn registering(
        &self,
        keys: EpochKeys,
        registering: Registering<'_>,
        randomness: [u8; 32],
    ) -> Result<Checked, Halt> {
        let (party, Registering { spec, key, mut slots }) = (&self.run.party, registering);
        if spec.keys[party.id.index()] != key.public() {
            let why = "participants were told another key of this server";
            return Err(Halt::End(Unmixed::Unfit(why)));
        }
        if self.spec.round != 0 {
            return Err(Halt::End(Unmixed::Unfit(OTHER_ROUND)));
        }
        // J1, J2.
        handed::keep_genuine(self.spec, &spec, &mut slots);
        let (begun, (accepted, taken)) = self.listed(&keys, &slots, randomness).await?;
        // J3.
        let digest = accepted.digest();
        let mut opened = opened(party, key, &slots, &accepted, &taken);
        registration::complete(self.run, &digest, &mut opened).await?;
        // J4.
        let digest = if opened.len() == accepted.len() {
            self.seal(&accepted, digest).await?
        } else {
            let left = left(&opened, &accepted);
            self.seal(&left, left.digest()).await?
        };
        let pads = self.pads(opened.len(), |row| row_with(&opened[row]));
        drop(opened);
        drop((accepted, taken));
        drop(slots);
        self.mixed(keys, begun, digest, pads).await
    }

    /// What the tables need of sealed rows.
    fn pads<'a>(&self, rows: usize, row: impl Fn(usize) -> Row<'a> + Sync) -> Pads {
        let context = PadContext::new(&self.spec.context, self.spec.round);
        Pads::new(self.run.me(), &context, (rows, self.spec.width as usize), row)
    }

    /// E6 to E13.
    async fn mixed(
        &self,
        keys: EpochKeys,
        begun: Begun,
        sealed: Digest,
        mut pads: Pads,
    ) -> Result<Checked, Halt> {
        let width = self.spec.width as usize;
        let mixing = Mixing::new(pads.rows(), width, keys);
        let (made, headers) = self.tables(&mixing, &mut pads).await?;
        let (tables, digests) = self.stated(&headers).await?;
        let coin = self.toss(begun.coin).await?;
        let c = columns::vector(&coin, width);
        let made = Checks::new(self.run, &mixing, &pads, made, c).run().await?;
        let mut transcript = Transcript::new("ostrakon/v1/clarion/ready");
        transcript.field(&sealed.0).field(&coin.0);
        digests.iter().for_each(|digest| {
            transcript.field(&digest.0);
        });
        let (ready, z1) = (transcript.finish(), digests[2]);
        Ok(Checked { ready, mixing, made, seeds: begun.seeds, tables, z1 })
    }

    /// E6 to E8. Returns this server's tables and the signed headers of what it sent and received.
    async fn tables(
        &self,
        mixing: &Mixing,
        pads: &mut Pads,
    ) -> Result<(Made, Vec<SignedHeader>), Halt> {
        let mut held = Tables { made: [None, None, None, None], headers: [None; 4] };
        let inner = match self.run.me() {
            // What is long travels when it is asked for, so that comes first.
            P1 => {
                let while_z2_comes = async {
                    mixing.permutation(Purpose::Pi1);
                    Ok(mixing.padless(pads))
                };
                let (z2, padless) = try_join(self.table(mixing, Kind::Z2), while_z2_comes).await?;
                held.keep(Kind::Z2, z2);
                let y = mixing.y(padless, held.message(Kind::Z2));
                held.keep(Kind::Z1, self.send_table(Kind::Z1, mixing.z1(&y)));
                drop(y);
                held.keep(Kind::S, self.table(mixing, Kind::S).await?);
                Vec::new()
            }
            P2 => {
                let sending = async {
                    let z2 = self.send_table(Kind::Z2, mixing.z2(pads));
                    mixing.permutation(Purpose::Pi2);
                    Ok(z2)
                };
                let (delta, z1, z2) = try_join3(
                    self.table(mixing, Kind::Delta),
                    self.table(mixing, Kind::Z1),
                    sending,
                )
                .await?;
                held.keep(Kind::Z2, z2);
                held.keep(Kind::Delta, delta);
                held.keep(Kind::Z1, z1);
                let s = mixing.s(held.message(Kind::Z1), held.message(Kind::Delta));
                held.keep(Kind::S, self.send_table(Kind::S, s));
                Vec::new()
            }
            _ => {
                let (delta, inner) = mixing.delta();
                held.keep(Kind::Delta, self.send_table(Kind::Delta, delta));
                inner
            }
        };
        let headers = held.headers.into_iter().flatten().collect();
        Ok((Made { messages: held.made, inner }, headers))
    }

    fn send_table(&self, kind: Kind, message: Vec<u8>) -> (SignedHeader, Body) {
        let route = TABLES.into_iter().find(|table| table.kind == kind).expect("a table");
        let body = Body::from(message);
        (self.run.send(route.to, kind, body.clone()), body)
    }

    /// Receives a table and marks its header: what follows from it is sent for no other. Returns
    /// the header that stands: its signer can sign it in many ways, and what this server states of
    /// it must be the same after a crash.
    async fn table(&self, mixing: &Mixing, kind: Kind) -> Result<(SignedHeader, Body), Halt> {
        let route = TABLES.into_iter().find(|table| table.kind == kind).expect("a table");
        let received = self.run.receive(route.from, kind).await?;
        let name = format!("received {:04x}", kind.step().0);
        let standing = self.record(&name, &wire::encode(&received.signed))?;
        let standing: SignedHeader = wire::decode(&standing)
            .map_err(|_| Halt::End(Unmixed::Marks(format!("the mark {name} is damaged"))))?;
        if standing.contradicts(&received.signed) {
            let two = Offence::Equivocation(Box::new([standing, received.signed]));
            return Err(self.run.fault(PartyId(route.from), two).into());
        }
        if received.body.len() != mixing.message() {
            return Err(Halt::Stop(Abort::Table(kind)));
        }
        Ok((standing, received.into_body()))
    }

    /// E9. Returns all statements and the digests of the four tables.
    async fn stated(
        &self,
        headers: &Vec<SignedHeader>,
    ) -> Result<([Received; 3], [Digest; 4]), Halt> {
        let stated = self.run.broadcast(Kind::TableStatement, wire::encode(headers)).await?;
        let roster = &self.run.party.roster;
        let mut digests: [Option<SignedHeader>; 4] = [None; 4];
        for (party, statement) in stated.iter().enumerate() {
            let id = PartyId(party as u8);
            let headers = decode_tables(&self.run.subject, roster, id, &statement.body)
                .expect("receiving has checked the content");
            for (route, header) in stated_by(id.0).zip(headers) {
                let place = TABLES.iter().position(|table| *table == route).expect("a table");
                match digests[place] {
                    Some(before) if before.contradicts(&header) => {
                        let two = Offence::Equivocation(Box::new([before, header]));
                        return Err(self.run.fault(PartyId(route.from), two).into());
                    }
                    _ => digests[place] = Some(header),
                }
            }
        }
        let digest = |header: Option<SignedHeader>| {
            header.expect("every table is stated twice").header.digest
        };
        Ok((stated, digests.map(digest)))
    }

    /// E10.
    async fn toss(&self, committed: coin::Committed) -> Result<Digest, Halt> {
        let openings = committed.open(self.run, self.marks).await?;
        Ok(coin::joint_coin(openings.iter().map(|opening| &opening.body[..])))
    }
}

/// A server's tables as they come.
struct Tables {
    made: [Option<Body>; 4],
    headers: [Option<SignedHeader>; 4],
}

impl Tables {
    fn keep(&mut self, kind: Kind, (header, body): (SignedHeader, Body)) {
        self.headers[place(kind)] = Some(header);
        self.made[place(kind)] = Some(body);
    }

    fn message(&self, kind: Kind) -> &[u8] {
        self.made[place(kind)].as_ref().expect("kept before").bytes()
    }
}
