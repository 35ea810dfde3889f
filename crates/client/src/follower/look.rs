//! Reading a list on that every server serves, from whichever has more of it
//! (`docs/spec/follower.md`, F3). Which items are right is the reader's to know.

use std::collections::VecDeque;

use crate::time::Millis;

/// Between two looks, unless something happens.
const PAUSE: Millis = 2_000;
/// For so long items that lack something are held back, all together, until every server that
/// answers has shown them.
const HELD: Millis = 10_000;
/// After so long an answer is slow.
const SLOW: Millis = 2_000;
/// After so long without anything new nobody waits for what one server promises, or another one
/// may have.
const AWAITED: Millis = 10_000;

/// What is known of a list while it is looked at.
pub struct Known {
    pub now: Millis,
    /// By server, how many items it says it has; `None` if it does not answer.
    pub promised: Vec<Option<u64>>,
    /// Items read.
    pub length: u64,
    /// Servers of which one is honest.
    pub believed: usize,
    /// Whether every server has answered, or failed to.
    pub complete: bool,
}

impl Known {
    fn has_more(&self, party: usize, than: u64) -> bool {
        self.promised[party].is_some_and(|length| length > than)
    }
}

/// What is to be done next.
pub enum Next<T> {
    /// A server is to be asked for items from this place on.
    Ask(usize, u64),
    /// These follow what was read, by the servers that showed them.
    Take(Vec<(usize, Vec<T>)>),
    /// Nothing, for now.
    Rest,
}

/// How far the reading of a list is.
pub struct Look<T> {
    /// Servers that have shown something forged are not asked again.
    distrusted: Vec<bool>,
    /// Servers whose last answer came late, or was none: the others are asked first.
    slow: Vec<bool>,
    /// The server that gave something last: so that nobody who gives little at a time holds up the
    /// others, they have their turns first.
    last: Option<usize>,
    /// When something was read last, or a server answered first.
    moved: Option<Millis>,
    /// Since when something is held back; `None` again once everything is read that is shown.
    since: Option<Millis>,
    /// When it is looked again.
    due: Millis,
    asked: Option<Asked>,
    round: Option<Round<T>>,
}

struct Asked {
    party: usize,
    from: u64,
    at: Millis,
}

/// One look at what the servers have.
struct Round<T> {
    /// Servers that are still to be asked.
    left: VecDeque<usize>,
    page: Option<Page<T>>,
}

/// An item, and how much it lacks that nothing explains. It verifies with it or without, so a
/// server could keep it back: another one is asked.
pub struct Shown<T> {
    pub item: T,
    pub lack: usize,
}

/// What a server shows; where it lacks something, as the server shows it that lacks least.
struct Page<T> {
    of: usize,
    from: u64,
    /// With the servers that show them.
    shown: Vec<(usize, Shown<T>)>,
    /// Servers whose page it is still to be compared with.
    others: VecDeque<usize>,
    /// Places up to which everybody who shows something shows it on one page.
    comparable: usize,
    /// Whether one of them shows nothing.
    silent: bool,
}

impl<T> Page<T> {
    /// The next server to be asked for what this page lacks.
    fn compare(&mut self, known: &Known) -> Option<usize> {
        while self.lacks() {
            let other = self.others.pop_front()?;
            if other != self.of && known.has_more(other, self.from) {
                return Some(other);
            }
            self.silent |= other != self.of;
        }
        None
    }

    fn lacks(&self) -> bool {
        self.shown.iter().any(|(_, one)| one.lack > 0)
    }

    fn merge(&mut self, party: usize, items: Vec<Shown<T>>) {
        self.silent |= items.is_empty();
        if !items.is_empty() {
            self.comparable = self.comparable.min(items.len());
        }
        for (before, one) in self.shown.iter_mut().zip(items) {
            if one.lack < before.1.lack {
                *before = (party, one);
            }
        }
    }
}

impl<T> Look<T> {
    /// At so many servers.
    pub fn new(servers: usize) -> Self {
        let (last, moved, since, due, asked, round) = Default::default();
        let (distrusted, slow) = (vec![false; servers], vec![false; servers]);
        Self { distrusted, slow, last, moved, since, due, asked, round }
    }

    /// Something happened: it is looked again at once.
    pub fn rouse(&mut self, now: Millis) {
        self.due = self.due.min(now);
    }

    /// A server has shown something forged.
    pub fn distrust(&mut self, party: usize) {
        self.distrusted[party] = true;
    }

    /// Whether a server is asked just now.
    pub fn asks(&self) -> bool {
        self.asked.is_some()
    }

    /// When it is to be called again.
    pub fn due(&self) -> Option<Millis> {
        (!self.asks()).then_some(self.due)
    }

    /// Servers that answer and have shown nothing forged, in the order in which they are asked.
    fn answering(&self, known: &Known) -> VecDeque<usize> {
        let all = known.promised.len();
        let there = |party: &usize| known.promised[*party].is_some() && !self.distrusted[*party];
        let mut parties: Vec<_> = (0..all).filter(there).collect();
        let first = self.last.map_or(0, |last| last + 1);
        parties.sort_by_key(|party| (self.slow[*party], (party + all - first % all) % all));
        parties.into()
    }

    /// What is to be done.
    pub fn next(&mut self, known: &Known) -> Next<T> {
        if self.asks() || self.round.is_none() && self.due > known.now {
            return Next::Rest;
        }
        let mut round = match self.round.take() {
            Some(round) => round,
            None => Round { left: self.answering(known), page: None },
        };
        loop {
            if let Some(mut page) = round.page.take() {
                if let Some(other) = page.compare(known) {
                    let from = page.from;
                    round.page = Some(page);
                    return self.ask(other, from, round, known.now);
                }
                if !page.shown.is_empty() {
                    return self.settle(page, known);
                }
            }
            match round.left.pop_front() {
                Some(party) if known.has_more(party, known.length) => {
                    return self.ask(party, known.length, round, known.now);
                }
                Some(_) => {}
                None => {
                    // Everything is read that anybody shows. What comes later has a wait of its
                    // own.
                    self.since = None;
                    self.due = known.now + PAUSE;
                    return Next::Rest;
                }
            }
        }
    }

    fn ask(&mut self, party: usize, from: u64, round: Round<T>, at: Millis) -> Next<T> {
        // As long as it is asked it may yet give what it promises.
        self.slow[party] = false;
        self.asked = Some(Asked { party, from, at });
        self.round = Some(round);
        Next::Ask(party, from)
    }

    /// What the server shows that is asked; nothing, if it does not answer.
    pub fn answered(&mut self, items: Vec<Shown<T>>, known: &Known) {
        let Some(Asked { party, from, at }) = self.asked.take() else { return };
        self.slow[party] = items.is_empty() || known.now - at >= SLOW;
        let others = self.answering(known);
        let Some(round) = &mut self.round else { return };
        if let Some(page) = &mut round.page {
            page.merge(party, items);
            return;
        }
        let shown = items.into_iter().map(|one| (party, one)).collect();
        let (comparable, silent) = (usize::MAX, false);
        round.page = Some(Page { of: party, from, shown, others, comparable, silent });
    }

    /// Gives out what was compared, up to what is held back.
    fn settle(&mut self, page: Page<T>, known: &Known) -> Next<T> {
        let held = page.silent && page.lacks() && self.holds(known.now);
        let Page { of, from, mut shown, comparable, .. } = page;
        let lacking = |(place, (_, one)): (usize, &(usize, Shown<T>))| {
            one.lack > 0 && (held || place >= comparable)
        };
        if let Some(place) = shown.iter().enumerate().position(lacking) {
            shown.truncate(place);
        }
        if shown.is_empty() {
            // It was compared with what everybody shows: whoever is asked next shows no more of it.
            self.due = known.now + PAUSE;
            return Next::Rest;
        }
        (self.last, self.moved, self.due) = (Some(of), Some(known.now), known.now);
        // What was read in another way meanwhile is not read twice, or it would look like a second
        // history.
        let read = usize::try_from(known.length - from).unwrap_or(usize::MAX);
        let mut runs: Vec<(usize, Vec<T>)> = Vec::new();
        for (party, Shown { item, .. }) in shown.into_iter().skip(read) {
            match runs.last_mut().filter(|(last, _)| *last == party) {
                Some((_, run)) => run.push(item),
                None => runs.push((party, vec![item])),
            }
        }
        Next::Take(runs)
    }

    /// Whether what lacks something is held back: a server that has shown nothing yet may have the
    /// rest of it. It has one wait for everything that is there to be read, or it would delay each
    /// item anew.
    fn holds(&mut self, now: Millis) -> bool {
        now - *self.since.get_or_insert(now) < HELD
    }

    /// Whether everything is read that there is, as far as can be told. Where so many servers
    /// promise more that one of them is honest, there is more. Where none does, as many have to say
    /// so, once every server has answered or failed to. For anything else nobody waits for ever,
    /// once whoever promises more was asked in vain: one server can promise what it does not have,
    /// and be silent.
    pub fn caught_up(&mut self, known: &Known) -> bool {
        let answering = self.answering(known);
        if answering.is_empty() {
            // Whoever comes back has the whole time again.
            self.moved = None;
            return false;
        }
        let moved = *self.moved.get_or_insert(known.now);
        let more: Vec<_> =
            answering.iter().filter(|party| known.has_more(**party, known.length)).collect();
        if more.len() >= known.believed {
            return false;
        }
        let said = answering.len() >= known.believed && known.complete;
        more.is_empty() && said
            || known.now - moved >= AWAITED && more.iter().all(|party| self.slow[**party])
    }

    /// When nobody waits any more, if nothing moves until then.
    pub fn patience(&self, now: Millis) -> Option<Millis> {
        self.moved.map(|moved| moved + AWAITED).filter(|at| *at > now)
    }
}
