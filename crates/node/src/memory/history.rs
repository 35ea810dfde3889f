//! What an operator may look back on: how epochs went, and how full the stock was.
//!
//! In memory only, bounded, and coarse: times to a tenth of a second and per epoch, never per
//! participant or submission.

use std::collections::{BTreeMap, VecDeque};

use ostrakon_mixing::EpochId;
use ostrakon_party::PartyId;
use ostrakon_store::Change;
use serde::{Deserialize, Serialize};

use crate::state::{Collecting, World};
use ostrakon_protocol::Outcome;

/// Epochs that are remembered.
const EPOCHS: usize = 200;
/// Epochs under way that are remembered: more than can be.
const UNDER_WAY: usize = 4096;
/// Seconds between two samples of the stock.
pub(crate) const SAMPLE_SECONDS: u64 = 10;
/// Samples that are kept as they are: an hour.
const FINE: usize = 360;
/// Samples of which the lowest stands for all, in what is older.
const MERGED: usize = 30;
/// Merged samples that are kept: a day.
const COARSE: usize = 288;
/// Upper bounds of the histogram's buckets, in seconds.
pub(crate) const BUCKETS: [u64; 8] = [1, 2, 5, 10, 30, 60, 120, 300];

/// What waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Queues {
    /// How full the queue to the disk is, in tenths.
    pub intake_tenths: u8,
    /// How much of what may be announced and not yet vouched for is, in tenths.
    pub announcements_tenths: u8,
}

/// How long the phases of an epoch took, in seconds, to a tenth. Absent if a restart came between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PhaseSeconds {
    /// From the first participant to the seal.
    pub collect: Option<f64>,
    /// From the seal until this server knew what it found.
    pub mix: Option<f64>,
    /// From then until the servers agreed.
    pub sign: Option<f64>,
}

/// How an epoch went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PastEpoch {
    /// The room's id, hexadecimal.
    pub room: String,
    /// The epoch.
    pub number: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Slots that had an owner; absent if a restart came between.
    pub slots: Option<u32>,
    /// Submissions that were mixed, covers included; absent if nothing was published.
    pub accepted: Option<u32>,
    /// How long it took.
    pub seconds: PhaseSeconds,
}

/// Two servers, of whom one is at fault for epochs that were stopped; which one cannot be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Suspects {
    /// Their party numbers, the lower one first.
    pub pair: [u8; 2],
    /// How many epochs were stopped so since the start.
    pub aborts: u32,
}

/// The stock at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StockSample {
    /// Seconds since 1970.
    pub at: u64,
    /// Batches ready for use; of an older stretch of time, the fewest.
    pub usable: u32,
}

/// A histogram of seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Histogram {
    /// Of how many so far each bound was not exceeded.
    pub below: [u64; BUCKETS.len()],
    pub count: u64,
    /// In tenths of a second.
    pub tenths: u64,
}

impl Histogram {
    fn add(&mut self, tenths: u64) {
        for (bound, below) in BUCKETS.iter().zip(&mut self.below) {
            *below += u64::from(tenths <= bound * 10);
        }
        self.count += 1;
        self.tenths += tenths;
    }
}

/// An epoch that was sealed.
#[derive(Clone, Copy)]
struct UnderWay {
    slots: u32,
    collect: Option<u64>,
    sealed_at: u64,
    mixed_at: Option<u64>,
}

/// The record.
#[derive(Default)]
pub(crate) struct History {
    under_way: BTreeMap<EpochId, UnderWay>,
    past: VecDeque<PastEpoch>,
    /// How often epochs were stopped by a pair of servers of whom one is at fault.
    aborts: BTreeMap<[u8; 2], u32>,
    fine: VecDeque<StockSample>,
    coarse: VecDeque<StockSample>,
    merging: Vec<StockSample>,
    /// Of collecting, mixing and signing.
    pub phases: [Histogram; 3],
    /// How full the queues were when the last sample was taken.
    pub queues: Queues,
}

fn tenths(from: u64, to: u64) -> u64 {
    (to.saturating_sub(from) + 50) / 100
}

fn seconds(tenths: Option<u64>) -> Option<f64> {
    tenths.map(|tenths| tenths as f64 / 10.0)
}

impl History {
    /// Notes the end of an epoch's collecting. `world` is as before the change; times in
    /// milliseconds since 1970.
    pub fn note(&mut self, world: &World, change: &Change, now: u64) {
        let (Change::SealEpoch { room, epoch, .. } | Change::VoidEpoch { room, epoch, .. }) =
            change
        else {
            return;
        };
        let id = EpochId { room: ostrakon_mixing::RoomId(*room), number: *epoch };
        let Some(collecting) = world.rooms.get(&id.room).and_then(|room| room.collecting(*epoch))
        else {
            return;
        };
        let Collecting { slots, begun_at, .. } = collecting;
        let collect = begun_at.map(|begun| tenths(begun, now));
        let slots = u32::try_from(slots.len()).unwrap_or(u32::MAX);
        let under_way = UnderWay { slots, collect, sealed_at: now, mixed_at: None };
        if matches!(change, Change::VoidEpoch { .. }) {
            self.finish(id, Some(under_way), Outcome::Failed, None, now);
        } else if self.under_way.len() < UNDER_WAY {
            self.under_way.insert(id, under_way);
        }
    }

    /// This server knows what it found.
    pub fn mixed(&mut self, epoch: EpochId, now: u64) {
        if let Some(under_way) = self.under_way.get_mut(&epoch) {
            under_way.mixed_at = Some(now);
        }
    }

    /// An epoch was stopped, and one of the two is at fault.
    pub fn aborted(&mut self, pair: [PartyId; 2]) {
        let mut pair = pair.map(|party| party.0);
        pair.sort_unstable();
        let count = self.aborts.entry(pair).or_default();
        *count = count.saturating_add(1);
    }

    /// The pairs that stopped epochs since the start.
    pub fn suspects(&self) -> Vec<Suspects> {
        self.aborts.iter().map(|(pair, aborts)| Suspects { pair: *pair, aborts: *aborts }).collect()
    }

    /// The servers agreed.
    pub fn settled(&mut self, epoch: EpochId, outcome: Outcome, accepted: Option<u32>, now: u64) {
        let under_way = self.under_way.remove(&epoch);
        self.finish(epoch, under_way, outcome, accepted, now);
    }

    fn finish(
        &mut self,
        id: EpochId,
        run: Option<UnderWay>,
        outcome: Outcome,
        accepted: Option<u32>,
        now: u64,
    ) {
        let collect = run.and_then(|run| run.collect);
        let mix = run.and_then(|run| Some(tenths(run.sealed_at, run.mixed_at?)));
        let sign = run.and_then(|run| Some(tenths(run.mixed_at?, now)));
        for (histogram, phase) in self.phases.iter_mut().zip([collect, mix, sign]) {
            phase.into_iter().for_each(|tenths| histogram.add(tenths));
        }
        if self.past.len() == EPOCHS {
            self.past.pop_front();
        }
        self.past.push_back(PastEpoch {
            room: id.room.to_hex(),
            number: id.number,
            outcome,
            slots: run.map(|run| run.slots),
            accepted,
            seconds: PhaseSeconds {
                collect: seconds(collect),
                mix: seconds(mix),
                sign: seconds(sign),
            },
        });
    }

    /// Takes a sample of the stock and of the queues. `at` in seconds since 1970.
    pub fn sample(&mut self, at: u64, usable: u32, queues: Queues) {
        self.queues = queues;
        self.fine.push_back(StockSample { at: at - at % SAMPLE_SECONDS, usable });
        if self.fine.len() > FINE {
            self.merging.extend(self.fine.pop_front());
        }
        if self.merging.len() == MERGED {
            let usable = self.merging.iter().map(|sample| sample.usable).min().unwrap_or(0);
            self.coarse
                .extend(self.merging.first().map(|first| StockSample { at: first.at, usable }));
            self.merging.clear();
        }
        if self.coarse.len() > COARSE {
            self.coarse.pop_front();
        }
    }

    /// The last epochs, oldest first.
    pub fn epochs(&self) -> Vec<PastEpoch> {
        self.past.iter().cloned().collect()
    }

    /// The stock of the last day, oldest first.
    pub fn stock(&self) -> Vec<StockSample> {
        self.coarse.iter().chain(&self.merging).chain(&self.fine).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_mixing::RoomId;

    use super::*;

    fn epoch(number: u64) -> EpochId {
        EpochId { room: RoomId([1; 16]), number }
    }

    fn sealed(history: &mut History, number: u64, collect: u64, now: u64) {
        let under_way =
            UnderWay { slots: 7, collect: Some(collect), sealed_at: now, mixed_at: None };
        history.under_way.insert(epoch(number), under_way);
    }

    #[test]
    fn phases_are_rounded_and_counted_coarsely() {
        let mut history = History::default();
        sealed(&mut history, 1, 101, 10_000);
        history.mixed(epoch(1), 10_449);
        history.settled(epoch(1), Outcome::Published, Some(6), 11_900);
        history.settled(epoch(2), Outcome::TooFew, None, 12_000);
        let past = history.epochs();
        let seconds = PhaseSeconds { collect: Some(10.1), mix: Some(0.4), sign: Some(1.5) };
        assert_eq!((past[0].seconds, past[0].slots, past[0].accepted), (seconds, Some(7), Some(6)));
        assert_eq!(
            (past[1].seconds, past[1].slots),
            (PhaseSeconds::default(), None),
            "a restart came between"
        );
        let collect = history.phases[0];
        assert_eq!(
            (collect.below, collect.count, collect.tenths),
            ([0, 0, 0, 0, 1, 1, 1, 1], 1, 101)
        );
    }

    #[test]
    fn the_record_is_bounded() {
        let mut history = History::default();
        for number in 0..500 {
            history.settled(epoch(number), Outcome::TooFew, None, 0);
        }
        assert_eq!((history.epochs().len(), history.epochs()[0].number), (EPOCHS, 300));
        // Two days, with one empty moment in each quarter of an hour.
        for n in 0..2 * 8_640 {
            history.sample(
                n * SAMPLE_SECONDS + 3,
                if n % 90 == 0 { 0 } else { 9 },
                Queues::default(),
            );
        }
        let stock = history.stock();
        assert!(stock.len() <= FINE + COARSE + MERGED, "{}", stock.len());
        assert!(stock.windows(2).all(|pair| pair[0].at < pair[1].at));
        let day = 86_400;
        assert!(
            (day..day + 2 * 3_600).contains(&(stock.last().unwrap().at - stock[0].at)),
            "a day, and an hour"
        );
        assert!(
            stock[..96].iter().filter(|sample| sample.usable == 0).count() >= 31,
            "no emptiness is averaged away"
        );
    }
}
