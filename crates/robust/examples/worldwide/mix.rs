//! One mix among all servers of a map: the state machines of the crate, on stock from a dealer.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::client::{MaskReader, Masked, Masks};
use ostrakon_robust::machine::{Machine, Outcome, Step};
use ostrakon_robust::message::Instance;
use ostrakon_robust::offline::recipes::{Powers, PowersStock};
use ostrakon_robust::offline::{Checked, Journal, Spent};
use ostrakon_robust::online::butterfly::{self, Butterfly};
use ostrakon_robust::online::powermix::{PowerMix, Transforms};
use ostrakon_robust::program::Program;
use ostrakon_robust::{Committee, Tape};
use serde::{Deserialize, Serialize};

use crate::dealer::Dealer;
use crate::network::{Network, Processor};
use crate::regions::Map;

/// Elements of a message of 32 bytes, as long as the paper's: seven bytes each.
pub const WIDTH: usize = 5;

/// How messages are mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// Power sums, in one opening.
    Powermix,
    /// The switching network, the iterated butterfly.
    Network,
}

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub mix: Mix,
    pub messages: usize,
    /// Servers that never say anything, at most t.
    pub dead: usize,
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    pub mix: Mix,
    pub servers: usize,
    pub dead: usize,
    pub messages: usize,
    /// Whether processors add to the time.
    pub computing: bool,
    /// Until t + 1 servers have the output, which is enough for a board.
    pub first_seconds: f64,
    /// Until all living servers have it.
    pub seconds: f64,
    /// Openings, of two messages one after the other each.
    pub openings: usize,
    /// Messages between servers.
    pub sent: u64,
    /// Bytes that a server sends, the mean.
    pub bytes_of_server: u64,
    /// Seconds that a server computes, the mean; 0 if processors add nothing.
    pub computing_of_server: f64,
}

/// Simulates a mix.
///
/// # Errors
/// If there is no such mix, or what comes out is not what was said.
pub fn run(map: &Map, plan: &Plan, processor: &mut Processor) -> Result<Ran> {
    let servers = map.servers();
    let corrupt = (servers - 1) / 3;
    ensure!(plan.dead <= corrupt, "at most {corrupt} of {servers} servers may be dead");
    let members: Vec<PartyId> = (0..u8::try_from(servers)?).map(PartyId).collect();
    let committee = Committee::new(&members, corrupt).context("too few servers")?;
    let committee = Arc::new(committee);
    let mut dealer = Dealer::new(&committee, plan.seed);
    let said: Vec<Vec<Fp>> = (0..plan.messages)
        .map(|_| (0..WIDTH).map(|_| Fp::random(&mut dealer.tape)).collect())
        .collect();
    let mut wanted = said.clone();
    wanted.sort_unstable();
    let check = |mut rows: Vec<Vec<Fp>>| {
        rows.sort_unstable();
        ensure!(rows == wanted, "the messages that come out are not those that were said");
        Ok(())
    };
    let world = World { map, committee: &committee, plan };
    match plan.mix {
        Mix::Powermix => {
            ensure!(plan.messages > 0, "a mix of at least one message");
            let shape = Powers { slots: plan.messages, powers: plan.messages, columns: WIDTH };
            let stock = checked(dealer.powers(shape), &committee);
            let submissions: Vec<Option<Masked>> = (0..plan.messages)
                .map(|slot| {
                    let masks =
                        masks(&committee, &mut dealer.tape, |i| stock[i].stock().masks(slot));
                    Some(masks.for_carrier(Fp::random(&mut dealer.tape), &said[slot]))
                })
                .collect();
            // Before anything is said, servers transform their stock.
            let program = |stock: Checked<PowersStock>| {
                Ok(PowerMix::new(spent(stock.map(Transforms::from))?, submissions.clone()))
            };
            let solve = |sums: &<PowerMix as Program>::Output, tape: &mut Tape| {
                let carriers = sums.solve(tape)?;
                Ok(carriers.into_iter().map(|carrier| carrier.payload).collect())
            };
            world.run(stock, program, solve, check, processor)
        }
        Mix::Network => {
            let possible = plan.messages.is_power_of_two() && plan.messages > 1;
            ensure!(possible, "a network is of a power of two");
            let shape = butterfly::stock_of(plan.messages, WIDTH);
            let stock = checked(dealer.switches(shape), &committee);
            let submissions: Vec<Option<Masked>> = (0..plan.messages)
                .map(|slot| {
                    let of = |i: usize| {
                        let stock = stock[i].stock();
                        let row = &stock.masks[slot * WIDTH..][..WIDTH];
                        [row, &stock.pads[2 * slot..][..2]].concat()
                    };
                    Some(masks(&committee, &mut dealer.tape, of).for_row(&said[slot]))
                })
                .collect();
            let program = |stock| Ok(Butterfly::new(spent(stock)?, submissions.clone()));
            let cut =
                |rows: &Vec<Fp>, _: &mut Tape| Ok(rows.chunks(WIDTH).map(<[Fp]>::to_vec).collect());
            world.run(stock, program, cut, check, processor)
        }
    }
}

/// A journal of one mark that nobody reads again.
struct Marks;

impl Journal for Marks {
    fn spend(&mut self, _batch: Digest, _purpose: Digest) -> bool {
        true
    }
}

const BATCH: Digest = Digest([1; 32]);

fn checked<T>(stock: Vec<T>, committee: &Arc<Committee>) -> Vec<Checked<T>> {
    let check = |stock| Checked::restore(BATCH, Arc::clone(committee), stock);
    stock.into_iter().map(check).collect()
}

fn spent<T>(stock: Checked<T>) -> Result<Spent<T>> {
    Ok(stock.spend(Digest([2; 32]), &mut Marks)?)
}

/// What a client puts together from 2t + 1 servers' shares.
fn masks(committee: &Committee, tape: &mut Tape, of: impl Fn(usize) -> Vec<Fp>) -> Masks {
    let mut reader = MaskReader::new(committee.clone(), of(0).len());
    let mut given = committee.members().iter().enumerate();
    given.find_map(|(i, member)| reader.receive(*member, &of(i), tape)).expect("all are right")
}

struct World<'a> {
    map: &'a Map,
    committee: &'a Arc<Committee>,
    plan: &'a Plan,
}

impl World<'_> {
    /// Runs the program at all servers, from the moment when each has what is sealed. `rows` is
    /// what a server makes of the output.
    fn run<S, P: Program<Output: PartialEq>>(
        &self,
        stock: Vec<Checked<S>>,
        program: impl Fn(Checked<S>) -> Result<P>,
        rows: impl Fn(&P::Output, &mut Tape) -> Result<Vec<Vec<Fp>>>,
        check: impl Fn(Vec<Vec<Fp>>) -> Result<()>,
        processor: &mut Processor,
    ) -> Result<Ran> {
        let members = self.committee.members();
        let keys: Vec<_> =
            members.iter().map(|id| Arc::new(SigningKey::from_seed(&[id.0; 32]))).collect();
        // Nobody deals, so there is nothing on the tapes.
        let tape = || Tape::new(&Secret::new([0; 32]));
        let living = members.len() - self.plan.dead;
        let mut servers = Servers {
            network: Network::new(self.map),
            processor,
            tape: tape(),
            busy: vec![0; living],
            computed: vec![0; living],
            done: Vec::new(),
            output: None,
        };
        let mut instance = None;
        let mut machines: Vec<Machine<P>> = Vec::with_capacity(living);
        // One after the other, as transformed stock is large and gone after the start.
        for (me, (stock, key)) in stock.into_iter().zip(&keys).take(living).enumerate() {
            let program = program(stock)?;
            let instance = instance.get_or_insert_with(|| {
                Arc::new(Instance {
                    name: BATCH,
                    committee: Arc::clone(self.committee),
                    keys: keys.iter().map(|key| key.verifying_key()).collect(),
                    phases: program.phases(),
                })
            });
            let (instance, key) = (Arc::clone(instance), Arc::clone(key));
            let mut machine = Machine::new(instance, me, key, program, tape());
            servers.act(0, me, |tape| machine.start(tape), &rows)?;
            machines.push(machine);
        }
        let openings = instance.context("no servers")?.phases.len();
        while servers.done.len() < living {
            let arrival = servers.network.next().context("nothing moves any more")?;
            if let Some(machine) = machines.get_mut(arrival.to) {
                let from = members[arrival.from];
                let handle = |tape: &mut Tape| machine.handle(from, &arrival.bytes, tape);
                servers.act(arrival.at, arrival.to, handle, &rows)?;
            }
        }
        let output = servers.output.take().context("no output")?;
        check(rows(&output, &mut servers.tape)?)?;
        Ok(servers.ran(self.plan, members.len(), openings))
    }
}

/// Living servers at work.
struct Servers<'a, T> {
    network: Network<'a>,
    processor: &'a mut Processor,
    tape: Tape,
    /// By server: until when it computes, and for how long it has.
    busy: Vec<u64>,
    computed: Vec<u64>,
    /// When servers had the output.
    done: Vec<u64>,
    output: Option<T>,
}

impl<T: PartialEq> Servers<'_, T> {
    /// A server does something as soon as it has done what came before.
    fn act(
        &mut self,
        at: u64,
        me: usize,
        work: impl FnOnce(&mut Tape) -> Step<Outcome<T>>,
        rows: impl Fn(&T, &mut Tape) -> Result<Vec<Vec<Fp>>>,
    ) -> Result<()> {
        let (step, took) = self.processor.run(|| work(&mut self.tape));
        let begins = at.max(self.busy[me]);
        self.worked(me, begins, took);
        ensure!(step.faults.is_empty(), "a server is blamed");
        for (to, bytes) in step.sends {
            self.network.send(self.busy[me], me, to.index(), bytes);
        }
        for outcome in step.outputs {
            let Outcome::Done(output) = outcome else { bail!("a server gave up") };
            if self.processor.takes_time() {
                let (rows, took) = self.processor.run(|| rows(&output, &mut self.tape));
                drop(rows?);
                self.worked(me, self.busy[me], took);
            }
            ensure!(
                self.output.as_ref().is_none_or(|other| *other == output),
                "servers have different outputs"
            );
            self.output = Some(output);
            self.done.push(self.busy[me]);
        }
        Ok(())
    }

    fn worked(&mut self, me: usize, begins: u64, took: u64) {
        self.busy[me] = begins + took;
        self.computed[me] += took;
    }

    fn ran(mut self, plan: &Plan, servers: usize, openings: usize) -> Ran {
        self.done.sort_unstable();
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let living = self.busy.len();
        let believed = (servers - 1) / 3;
        Ran {
            mix: plan.mix,
            servers,
            dead: plan.dead,
            messages: plan.messages,
            computing: self.processor.takes_time(),
            first_seconds: seconds(self.done[believed]),
            seconds: seconds(self.done[living - 1]),
            openings,
            sent: self.network.sent(),
            bytes_of_server: self.network.bytes.iter().sum::<u64>() / living as u64,
            computing_of_server: seconds(self.computed.iter().sum::<u64>()) / living as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(mix: Mix, messages: usize) -> Plan {
        Plan { mix, messages, dead: 0, seed: 7 }
    }

    /// Every opening takes two messages, one after the other, which cannot be faster than light.
    #[test]
    fn a_mix_takes_its_openings() {
        let map = Map::of(4).unwrap();
        for (mix, messages, openings) in
            [(Mix::Powermix, 1, 1), (Mix::Powermix, 5, 1), (Mix::Network, 8, 14)]
        {
            let ran = run(&map, &plan(mix, messages), &mut Processor::Free).unwrap();
            assert_eq!((ran.openings, ran.messages), (openings, messages));
            // Of three others the two that are nearer: from Tokyo, Virginia and Mumbai.
            let hop = 0.081;
            let least = 2.0 * openings as f64 * hop * 0.79;
            assert!(ran.seconds > least && ran.seconds < 4.0 * least, "{ran:?}");
            assert!(ran.first_seconds <= ran.seconds);
            let again = run(&map, &plan(mix, messages), &mut Processor::Free).unwrap();
            assert_eq!(ran, again, "nothing but the seed decides");
        }
    }

    /// A processor that takes a second for everything: what comes is handled one after the other.
    #[test]
    fn computing_takes_time() {
        let map = Map::of(4).unwrap();
        let of = |processor: &mut Processor| run(&map, &plan(Mix::Powermix, 3), processor).unwrap();
        let free = of(&mut Processor::Free);
        let slow = of(&mut Processor::Fixed(1_000_000_000));
        assert!(!free.computing && slow.computing && free.computing_of_server == 0.0);
        // Start; two of three shares; two of three values at least; the solution.
        assert!(slow.first_seconds >= free.first_seconds.max(6.0), "{slow:?}");
        assert!(slow.computing_of_server >= 6.0 && slow.computing_of_server <= 8.0, "{slow:?}");
        let measured = of(&mut Processor::Measured(crate::meter::Meter::new()));
        assert!(measured.computing_of_server > 0.0 && measured.seconds > free.seconds);
    }

    #[test]
    fn t_dead_servers_delay_a_mix_and_do_not_stop_it() {
        let map = Map::of(10).unwrap();
        for mix in [Mix::Powermix, Mix::Network] {
            let all = run(&map, &plan(mix, 4), &mut Processor::Free).unwrap();
            let few = Plan { dead: 3, ..plan(mix, 4) };
            let few = run(&map, &few, &mut Processor::Free).unwrap();
            assert!(few.seconds > all.seconds, "{few:?} {all:?}");
            assert!(run(&map, &Plan { dead: 4, ..plan(mix, 4) }, &mut Processor::Free).is_err());
        }
    }
}
