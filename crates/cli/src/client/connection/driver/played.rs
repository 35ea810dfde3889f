//! Servers that answer by a script, in tokio's virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use ostrakon_client::{Http, Millis};
use ostrakon_party::PartyId;
use tokio::time::Instant;

use super::{Driver, Machine, Transport};
use crate::exchange::{Exchange, Played};

/// How servers answer.
pub trait Answering: Send + 'static {
    /// After how long, with which HTTP status, and what a server answers to a request.
    fn answer(
        &mut self,
        at: Millis,
        party: u8,
        request: &Http,
        patience: Millis,
    ) -> (Millis, u16, String);
}

impl Answering for Played {
    fn answer(
        &mut self,
        at: Millis,
        party: u8,
        request: &Http,
        patience: Millis,
    ) -> (Millis, u16, String) {
        let Exchange { delay, status, answer, .. } =
            Played::answer(self, at, party, request, patience);
        (delay, status, answer)
    }
}

struct Scripted<A> {
    began: Instant,
    start: Millis,
    answering: Mutex<A>,
}

impl<A> Scripted<A> {
    fn elapsed(&self) -> Millis {
        self.began.elapsed().as_millis() as Millis
    }
}

impl<A: Answering> Transport for Scripted<A> {
    fn now(&self) -> Millis {
        self.start + self.elapsed()
    }

    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        let patience = patience.as_millis() as Millis;
        let mut answering = self.answering.lock().unwrap();
        let (delay, status, answer) = answering.answer(self.elapsed(), party.0, &request, patience);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            (status, answer.into_bytes())
        })
    }
}

/// Plays a script from its start for so long to a machine: what its servers are left with. Wishes
/// come at their times, after the start, and are carried out by `act`; what else is to be done is
/// done by `other`.
pub async fn play<M: Machine, A: Answering, W>(
    (start, lasts): (Millis, Millis),
    answering: A,
    machine: M,
    wishes: &[(Millis, W)],
    mut act: impl FnMut(&mut M, Millis, &W),
    mut other: impl FnMut(&mut M, Millis, M::Other),
) -> A {
    let answering = Mutex::new(answering);
    let scripted = Arc::new(Scripted { began: Instant::now(), start, answering });
    let mut driver = Driver::new(machine, Arc::clone(&scripted));
    let mut wishes = wishes.iter().peekable();
    while scripted.elapsed() < lasts {
        while let Some((_, wish)) = wishes.next_if(|(at, _)| *at <= scripted.elapsed()) {
            driver.happen(|machine, now| act(machine, now, wish));
        }
        while let Some(action) = driver.next_other() {
            driver.happen(|machine, now| other(machine, now, action));
        }
        let wish = wishes.peek().map_or(lasts, |(at, _)| *at);
        let wish = Duration::from_millis(wish.saturating_sub(scripted.elapsed()));
        tokio::select! {
            () = driver.turn() => {}
            () = tokio::time::sleep(wish) => {}
        }
    }
    drop(driver);
    let scripted = Arc::into_inner(scripted).expect("nothing is under way any more");
    scripted.answering.into_inner().unwrap()
}
