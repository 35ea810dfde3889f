//! From a link to servers and room: drives [`ostrakon_client::Arriving`], which says who is asked,
//! and what of the answers is gone on with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use futures::future::BoxFuture;
use ostrakon_client::{Arrived, Arriving, ArrivingFailure, ArrivingNews, Destination, Http};
use ostrakon_crypto::Secret;
use ostrakon_party::PartyId;

use super::connection::Connection;
use super::connection::driver::{Driver, Transport};
use crate::failure::{self, CallError};
use crate::{output, system};

/// The servers as far as they are known: at first the one that is asked first.
struct Way {
    http: reqwest::Client,
    origin: String,
    /// Whether a link says who the servers are.
    is_pinned: bool,
    known: Mutex<Vec<Arc<Connection>>>,
    /// Why servers did not answer last, by their addresses.
    silence: Mutex<BTreeMap<String, CallError>>,
}

impl Way {
    fn new(http: &reqwest::Client, destination: &Destination) -> Self {
        let first = Connection::new(http.clone(), &destination.origin);
        let (origin, is_pinned) = (first.origin().to_owned(), destination.servers.is_some());
        let known = Mutex::new(vec![Arc::new(first)]);
        Self { http: http.clone(), origin, is_pinned, known, silence: Mutex::default() }
    }

    fn found(&self, addresses: &[String]) {
        let new = |origin: &String| Arc::new(Connection::new(self.http.clone(), origin));
        *self.known.lock().expect("no panic while listing") = addresses.iter().map(new).collect();
    }

    fn connection(&self, party: PartyId) -> Arc<Connection> {
        let known = self.known.lock().expect("no panic while listing");
        Arc::clone(&known[party.index()])
    }

    fn failed(&self, failure: ArrivingFailure) -> anyhow::Error {
        match failure {
            ArrivingFailure::OtherServers { at } if self.is_pinned => failure::unproven(format!(
                "{at} says that it belongs to other servers than those that the link names; do not trust it"
            )),
            ArrivingFailure::OtherServers { at } => failure::unproven(format!(
                "{at} names other servers than {}, or calls itself another one of them: one of the two lies; do not trust them",
                self.origin
            )),
            ArrivingFailure::OtherRoom { at } => {
                failure::unproven(format!("{at} describes another room than the link names"))
            }
            ArrivingFailure::Unusable { why } => failure::unproven(why),
            ArrivingFailure::Refused { at, refusal } => {
                failure::call(CallError::of(&at, Some(refusal)))
            }
            ArrivingFailure::Malformed { at: origin, why: cause } => {
                failure::call(CallError::Unknown { origin, cause })
            }
            ArrivingFailure::Away { at } => {
                let said = self.silence.lock().expect("no panic while noting").remove(&at);
                failure::call(said.unwrap_or_else(|| CallError::of(&at, None)))
            }
        }
    }
}

impl Transport for Way {
    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        Box::pin(async move {
            let connection = self.connection(party);
            let answer = connection.short_answer(request, patience).await;
            answer.unwrap_or_else(|error| {
                let origin = connection.origin().to_owned();
                self.silence.lock().expect("no panic while noting").insert(origin, error);
                (0, Vec::new())
            })
        })
    }
}

/// Finds the servers, and the room if the link names one.
///
/// # Errors
/// If the first server does not answer or is not one of those that the link names, none shows the
/// room, or, without a link, another server names other ones.
pub async fn arrive(http: &reqwest::Client, destination: Destination) -> Result<Arrived> {
    let way = Arc::new(Way::new(http, &destination));
    let arriving = Arriving::new(destination, None, Secret::new(system::random()));
    let mut driver = Driver::new(arriving, Arc::clone(&way));
    driver.happen(Arriving::wake);
    loop {
        while let Some(news) = driver.next_other() {
            match news {
                ArrivingNews::Found(addresses) => way.found(&addresses),
                ArrivingNews::Arrived(arrived) => {
                    // Where a server is, another one says.
                    for warning in warnings(&arrived) {
                        eprintln!("{}", output::harmless(warning.as_bytes()));
                    }
                    return Ok(*arrived);
                }
                ArrivingNews::Failed(failure) => return Err(way.failed(failure)),
            }
        }
        driver.turn().await;
    }
}

/// What is to be told although the room, or the servers, were found.
fn warnings(arrived: &Arrived) -> impl Iterator<Item = String> {
    arrived.contradicting.iter().map(|party| {
        let at = &arrived.addresses[party.index()];
        format!("P{} at {at} says that it belongs to other servers than those that the link names: do not trust it", party.0)
    })
}

/// Connections to servers, by number.
pub fn connect(http: &reqwest::Client, addresses: &[String]) -> Vec<Connection> {
    addresses.iter().map(|origin| Connection::new(http.clone(), origin)).collect()
}

#[cfg(test)]
mod tests;
