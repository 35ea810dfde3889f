//! `ostrakon committee serve`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_api::{Listener, Operating, OperatorToken};
use ostrakon_committee::{Config, Jobs, Open, Peers, Service, Statistics, Store, Unreached};
use ostrakon_computation::{Cancellation, Committee, ComputationId, Order, Statement};
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_net::{Identity, Mesh, Quota, Reach, Timing};
use ostrakon_node::config::Limits;
use ostrakon_party::{Party, PartyId, Roster, SessionId};

use super::home::{Home, KIND};
use crate::client::{Connection, http_client};
use crate::serving::cards::{self, Directory, ServingOptions};
use crate::serving::serve::told_to_stop;
use crate::serving::upkeep;
use crate::system;

/// How often the others are looked at while something is under way.
const PAUSE: Duration = Duration::from_millis(100);
/// Computations that are computed at a time.
const AT_A_TIME: usize = 32;
/// Computations that are kept, whatever their state.
const COMPUTATIONS: usize = 10_000;
/// How nice a member is to whatever else runs on its machine. Linux gives a thread with 10 the
/// weight 110, where one of a server of rooms has 1,024.
const NICE: i32 = 10;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Options of `committee serve`.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    pub serving: ServingOptions,
}

/// Has the scheduler prefer whatever else runs on this machine to what a member computes, which may
/// take all cores for minutes while people wait for a room's epoch. For the one thread that there
/// is at the start: others take it over.
pub fn give_way() {
    let nice = rustix::process::getpriority_process(None);
    let set = nice.and_then(|nice| rustix::process::setpriority_process(None, nice.max(NICE)));
    if let Err(error) = set {
        tracing::warn!(%error, "what is computed takes time from servers of rooms on this machine");
    }
}

/// Runs a member until it is told to stop.
///
/// # Errors
/// If its directory is not in order, or a port cannot be used.
pub async fn run(options: Options) -> Result<()> {
    let stop = told_to_stop(options.serving.until_stdin_ends);
    let home = Home::open(Directory::new(&options.serving.home, &KIND)).context("--home")?;
    let _lock = home.directory.lock()?;
    let (committee, number) = home.committee()?;
    let store = Store::open(&home.data()).await?;
    let http = cards::listen("http", home.settings.http).await?;
    let mesh = mesh(&home, &committee, number).await?;
    let party =
        Party::new(party_of(number)?, roster(&committee), Arc::new(home.signing()), mesh.channel());
    let statistics = Statistics::new(home.exchange(), home.settings.fewest_reports)
        .with_circuits_of_all(home.settings.circuits_of_all);
    let service = Service::start(Config {
        signing: home.signing(),
        party,
        jobs: Jobs::default()
            .with(statistics)
            .with(ostrakon_committee::Graphs::new(home.for_seeds())),
        creators: home.settings.creators.clone(),
        store,
        peers: Arc::new(Others::new(&committee)?),
        clock: system::unix_time,
        entropy: system::fill,
        pause: PAUSE,
        open: Open {
            of_one: home.settings.open_of_one_creator,
            in_all: home.settings.open_questions,
            kept: COMPUTATIONS,
        },
        at_a_time: AT_A_TIME,
        budget: home.settings.budget()?,
        keep: (home.settings.keep_days > 0).then(|| DAY * home.settings.keep_days),
        committee: committee.clone(),
    })
    .await?;
    tracing::info!(committee = committee.name, number, "serving");
    let names: Vec<String> = committee.members.iter().map(|member| member.name.clone()).collect();
    let missing = move || {
        let states = mesh.peer_states();
        let far = states.iter().filter(|(_, state)| state.reach == Reach::No);
        far.map(|(id, _)| names[id.index()].clone()).collect()
    };
    let token = OperatorToken::new(&home.directory.token()?);
    let operating = Operating { missing: Arc::new(missing), token };
    let router = ostrakon_api::committee_router(service.clone(), options.serving.web, operating);
    let tls = upkeep::tls(&home.settings.https)?;
    ostrakon_api::serve(Listener::new(http, tls), router, &Limits::default(), stop).await;
    service.stop().await;
    Ok(())
}

fn party_of(number: usize) -> Result<PartyId> {
    Ok(PartyId(u8::try_from(number)?))
}

fn roster(committee: &Committee) -> Arc<Roster> {
    Arc::new(Roster { session: SessionId(committee.digest()), keys: committee.keys() })
}

async fn mesh(home: &Home, committee: &Committee, number: usize) -> Result<Arc<Mesh>> {
    let listener = cards::listen("mesh", home.settings.mesh).await?;
    let roster = roster(committee);
    let addresses = roster.parties().zip(&committee.members);
    let addresses = addresses.map(|(id, member)| (id, member.mesh.clone())).collect();
    Ok(Mesh::start(ostrakon_net::Config {
        id: party_of(number)?,
        identity: Identity::from_seed(&home.identity),
        listener,
        addresses,
        timing: Timing::default(),
        quota: Quota::default(),
        roster,
    })?)
}

/// The other members over HTTP.
struct Others(Vec<Connection>);

impl Others {
    fn new(committee: &Committee) -> Result<Self> {
        let http = http_client()?;
        let connect =
            |member: &ostrakon_computation::Card| Connection::new(http.clone(), &member.url);
        Ok(Self(committee.members.iter().map(connect).collect()))
    }
}

fn unreached(error: impl std::fmt::Display) -> Unreached {
    Unreached(error.to_string())
}

impl Peers for Others {
    fn statements<'a>(
        &'a self,
        member: usize,
        computation: &'a ComputationId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Statement>, Unreached>> {
        let path = format!("computations/{}/statements", computation.0.to_hex());
        async move {
            let told = self.0[member].get_bytes(&path, limit).await.map_err(unreached)?;
            serde_json::from_slice(&told).map_err(unreached)
        }
        .boxed()
    }

    fn input<'a>(
        &'a self,
        member: usize,
        computation: &'a ComputationId,
        (contributor, body): (VerifyingKey, Digest),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, Unreached>> {
        let id = computation.0.to_hex();
        let input = format!("{}/{}", contributor.to_hex(), body.to_hex());
        let path = format!("computations/{id}/inputs/{input}");
        async move { self.0[member].get_bytes(&path, limit).await.map_err(unreached) }.boxed()
    }

    fn order(&self, member: usize, order: Order) -> BoxFuture<'_, Result<(), Unreached>> {
        let path = format!("computations/{}/order", order.computation.0.to_hex());
        async move { self.0[member].post_silently(&path, &order).await.map_err(unreached) }.boxed()
    }

    fn cancel(&self, member: usize, order: Cancellation) -> BoxFuture<'_, Result<(), Unreached>> {
        let path = format!("computations/{}/cancellation", order.computation.0.to_hex());
        async move { self.0[member].post_silently(&path, &order).await.map_err(unreached) }.boxed()
    }
}
