//! Devices' visits (spec W1).

use ostrakon_agreement::Keys;
use ostrakon_party::PartyId;

use crate::visit::{Answer, Ask, Collecting, Standing};

use super::{Effects, Service};

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<K: Keys> Service<K> {
    /// Answers a visit. The answer leaves after the effects' writes are durable.
    pub fn visit(&mut self, ask: Ask, reached: Vec<PartyId>) -> (Effects, Answer) {
        let mut effects = Effects::default();
        for message in ask.messages {
            self.serve(message, &mut effects);
        }
        self.settle(&mut effects);
        let replies = std::mem::take(&mut effects.replies);
        let answer = Answer {
            standing: self.standing(reached),
            entries: self.catching.entries_from(ask.entry),
            replies: replies.into_iter().map(|(_, reply)| reply).collect(),
        };
        (effects, answer)
    }

    /// How this server stands; `reached` are the servers with which there is a link.
    pub fn standing(&self, reached: Vec<PartyId>) -> Standing {
        let collecting = self.state.collecting().map(|(number, epoch)| Collecting {
            epoch: number,
            places: count(epoch.places.len()),
            rows: count(epoch.rows_in(&self.room)),
            age: self.collected.age_of(number),
        });
        let stock = &self.state.stock;
        let under_way = self.state.epochs.len() - usize::from(collecting.is_some());
        Standing {
            runs: self.runs(),
            entries: self.state.entries,
            collecting,
            mixing: count(under_way),
            ready: count(stock.ready()),
            reached,
            convicted: stock.convicted().iter().map(|(id, of)| (*id, of.deed)).collect(),
            spoilt: stock.spoilt(),
        }
    }
}
