//! A decision at its servers: drives the visitor ([`ostrakon_client::visitor`]), which says what is
//! asked, what of the answers is believed, and what is handed in.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::future::BoxFuture;
use ostrakon_client::visitor::{Action, Deed, Failure, Filling, News, Refusal, Stock, Visitor};
use ostrakon_client::{Arrived, Destination, Http};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_decide::{
    Archive, Chain, DecisionId, Link, Memory, Opening, Operators, Outcome, Receipt, Refused, Stage,
};
use ostrakon_party::{PartyId, Servers};

use super::arriving::{arrive, connect};
use super::connection::Connection;
use super::connection::driver::{Driver, Transport};
use crate::failure::{self, CallError};
use crate::system;

/// How often it is looked how a decision stands before what one server shows alone is left aside.
const COMPARISONS: u32 = 6;
/// How long servers may take to sign for an answer.
const SIGNING: Duration = Duration::from_secs(30);

/// Three servers that keep decisions.
pub struct Deployment {
    /// Who they are.
    pub servers: Servers,
    /// The same, as decisions need it.
    pub operators: Operators,
    /// Their public interfaces, by party number.
    pub connections: Vec<Connection>,
    /// Where links lead to.
    pub entrance: String,
}

impl Deployment {
    /// Finds all servers by one of them. `pinned` is their digest if it is known from a link.
    ///
    /// # Errors
    /// If the server does not answer, it shows other keys than those that are pinned, or, where
    /// none are, another server shows other ones.
    pub async fn open(
        http: &reqwest::Client,
        origin: &str,
        pinned: Option<&Digest>,
    ) -> Result<Arc<Self>> {
        let (origin, pinned) = (origin.to_owned(), pinned.copied());
        let destination = Destination { origin, servers: pinned, room: None };
        let Arrived { servers, addresses, entrance, .. } = arrive(http, destination).await?;
        let operators =
            Operators::new(&servers).context("decisions need a deployment of three servers")?;
        let connections = connect(http, &addresses);
        Ok(Arc::new(Self { servers, operators, connections, entrance }))
    }

    /// Fills the stock of one-time keys with which an account can be asked while it is away, up to
    /// what the first server wants and to `most` keys.
    ///
    /// # Errors
    /// If a server does not answer or refuses.
    pub async fn fill_stock(self: &Arc<Self>, owner: SigningKey, most: u64) -> Result<()> {
        let seed = Secret::new(system::random());
        let machine = Stock::new(self.operators, owner, most, &seed);
        let mut driver = Driver::new(machine, Arc::clone(self));
        loop {
            match driver.next_other() {
                Some(Filling::Failed(failure)) => return Err(self.failed(None, failure)),
                Some(_) => return Ok(()),
                None => driver.turn().await,
            }
        }
    }

    /// The link to a decision, without an invitation.
    pub fn link(&self, decision: DecisionId) -> Link {
        let (origin, servers) = (self.entrance.clone(), self.operators.digest);
        Link { origin, decision, servers, invitation: None }
    }

    /// Where a server is.
    pub fn origin(&self, party: PartyId) -> &str {
        self.connections[party.index()].origin()
    }

    /// What a server said, or that it said nothing.
    pub fn said(&self, party: PartyId, refusal: Option<Refusal>) -> anyhow::Error {
        failure::call(CallError::of(self.origin(party), refusal))
    }

    /// Why something was not done.
    fn failed(&self, deed: Option<Deed>, failure: Failure) -> anyhow::Error {
        match failure {
            Failure::Refused(refused) if matches!(deed, Some(Deed::Remove(_) | Deed::Cancel)) => {
                anyhow::anyhow!("that is not possible: {refused}")
            }
            Failure::Refused(refused) => self::refused(refused),
            Failure::Server { party, refusal } => self.said(party, Some(refusal)),
            Failure::Key(invalid) => failure::unproven(invalid.to_string()),
            Failure::Away(party) => self.said(party, None),
            Failure::Busy => anyhow::anyhow!("others are always faster; try again"),
            Failure::NotKept => anyhow::anyhow!("it cannot be written down"),
        }
    }
}

impl Transport for Deployment {
    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        Box::pin(async move { self.connections[party.index()].exchange(request, patience).await })
    }
}

/// The servers, which are shown a token with a new decision, or a new join link.
pub struct Creator {
    /// The servers.
    pub deployment: Arc<Deployment>,
    /// The token, where the servers ask for one.
    pub token: Option<String>,
}

impl Transport for Creator {
    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        Box::pin(async move {
            let is_new = matches!(request.path.as_str(), "decisions" | "gatherings");
            let token = self.token.as_deref().filter(|_| is_new);
            let connection = &self.deployment.connections[party.index()];
            connection.exchange_as(token, request, patience).await
        })
    }
}

/// Where a device remembers decisions.
pub trait Remember: Send {
    /// Lets something be done with the memory, and has it written down when this returns.
    ///
    /// # Errors
    /// If it cannot be.
    fn remember(&mut self, with: &mut dyn FnMut(&mut Memory)) -> Result<()>;
}

/// Of who only looks: nothing is written down.
#[derive(Default)]
pub struct Onlooker(Memory);

impl Remember for Onlooker {
    fn remember(&mut self, with: &mut dyn FnMut(&mut Memory)) -> Result<()> {
        with(&mut self.0);
        Ok(())
    }
}

/// A visit to a decision at its servers.
pub struct Decision {
    /// Where it is and whose keys it must be kept by.
    pub link: Link,
    /// Its servers.
    pub deployment: Arc<Deployment>,
    driver: Driver<Visitor, Deployment>,
    /// Servers that were named for what they showed.
    warned: BTreeSet<PartyId>,
}

impl Decision {
    /// Follows a link, under a device's account.
    ///
    /// # Errors
    /// As [`Deployment::open`].
    pub async fn open(http: &reqwest::Client, link: Link, device: SigningKey) -> Result<Self> {
        let deployment = Deployment::open(http, &link.origin, Some(&link.servers)).await?;
        Ok(Self::at(deployment, link, device))
    }

    fn at(deployment: Arc<Deployment>, link: Link, device: SigningKey) -> Self {
        let (id, invitation) = (link.decision, link.invitation.clone());
        let seed = Secret::new(system::random());
        let visitor = Visitor::new(deployment.operators, id, invitation, device, &seed);
        let driver = Driver::new(visitor, Arc::clone(&deployment));
        Self { link, deployment, driver, warned: BTreeSet::new() }
    }

    /// What is known of it.
    pub fn visitor(&self) -> &Visitor {
        self.driver.machine()
    }

    /// What was read, which is something.
    ///
    /// # Errors
    /// If it is nothing.
    pub fn chain(&self) -> Result<&Chain> {
        self.visitor().chain().context("the servers show no record of this decision")
    }

    /// How the visit gets on next.
    ///
    /// # Errors
    /// If what the servers show is not believed, or something cannot be written down.
    pub async fn news(&mut self, device: &mut dyn Remember) -> Result<News> {
        loop {
            while let Some(action) = self.driver.next_other() {
                match action {
                    Action::Keep => self.keep(device)?,
                    Action::Tell(News::Refused(doubt)) => {
                        return Err(failure::unproven(doubt.to_string()));
                    }
                    Action::Tell(news) => {
                        self.warn();
                        return Ok(news);
                    }
                    Action::Ask(_) => unreachable!("the driver asks"),
                }
            }
            self.driver.turn().await;
        }
    }

    fn keep(&mut self, device: &mut dyn Remember) -> Result<()> {
        self.driver.happen(|visitor, now| {
            let kept = device.remember(&mut |memory| visitor.keep(memory));
            visitor.kept(now, kept.is_ok());
            kept
        })
    }

    /// Names servers that are not believed to whoever runs this program.
    fn warn(&mut self) {
        for (party, doubt) in self.driver.machine().distrusted() {
            if self.warned.insert(*party) {
                tracing::warn!(
                    "{} shows another history of this decision than two other servers, which are believed: \
                     tell the others, and whoever runs the servers ({doubt})",
                    self.deployment.origin(*party)
                );
            }
        }
    }

    /// Reads and verifies everything that two servers show, and gives those some time that are
    /// behind; `report` is told the numbers of records that are verified and that there are.
    ///
    /// # Errors
    /// If fewer than two servers answer, two show different histories and no third one tells whom
    /// to believe, or something does not hold.
    pub async fn read(
        &mut self,
        device: &mut dyn Remember,
        report: impl Fn(u32, u32),
    ) -> Result<()> {
        let mut looks = 0;
        while looks < COMPARISONS {
            match self.news(device).await? {
                News::Verifying { done, all } => report(done, all),
                News::Away
                    if self.visitor().silence().len() == self.deployment.connections.len() =>
                {
                    return Err(self.silence());
                }
                News::Away | News::Alone => looks += 1,
                News::Read if self.visitor().is_whole() => return Ok(()),
                News::Read => looks += 1,
                _ => {}
            }
        }
        if let Some((one, another)) = self.visitor().conflict() {
            return Err(failure::unproven(format!(
                "{} shows another history than {}: do not answer, and tell the others",
                self.deployment.origin(one),
                self.deployment.origin(another)
            )));
        }
        if self.visitor().silence().len() > 1 || self.visitor().chain().is_none() {
            return Err(failure::unreachable(
                "no second server has this decision and answers, so nothing can be compared; try again",
            ));
        }
        Ok(())
    }

    /// What the servers said that do not show it: a refusal says more than silence.
    fn silence(&self) -> anyhow::Error {
        let said = self.visitor().silence();
        let told = said.iter().find(|(_, refusal)| refusal.is_some()).or(said.iter().next());
        let (party, refusal) = told.expect("no server has answered");
        self.deployment.said(*party, refusal.clone())
    }

    /// Waits until something that is to be done is in the chain, or held for it.
    async fn done(&mut self, device: &mut dyn Remember, deed: Deed) -> Result<()> {
        loop {
            match self.news(device).await? {
                News::Done(done) | News::Held(done) if done == deed => return Ok(()),
                News::NotTaken(_) => {
                    return Err(failure::unreachable(
                        "no server takes it and shows that it has; try again",
                    ));
                }
                News::Failed(deed, failure) => {
                    return Err(self.deployment.failed(Some(deed), failure));
                }
                _ => {}
            }
        }
    }

    /// Sees to it that the account takes part; by the link's invitation if there is one.
    ///
    /// # Errors
    /// If there is no place for the account, or a server does not answer.
    pub async fn accept(&mut self, device: &mut dyn Remember) -> Result<()> {
        if self.visitor().person().is_some() {
            return Ok(());
        }
        ensure!(
            self.chain()?.stage() == Stage::Accepting,
            "nobody can join this decision any more"
        );
        self.driver.happen(|visitor, now| visitor.accept(now));
        self.done(device, Deed::Accept).await
    }

    /// Waits until answers are taken.
    ///
    /// # Errors
    /// If a server shows what cannot be.
    pub async fn until_answers_are_taken(&mut self, device: &mut dyn Remember) -> Result<()> {
        while self.chain()?.stage() == Stage::Accepting {
            if let News::Failed(deed, failure) = self.news(device).await? {
                return Err(self.deployment.failed(Some(deed), failure));
            }
        }
        Ok(())
    }

    /// Answers, and waits until two servers have signed for it. The answers are on disk before the
    /// first byte leaves, and are the only ones that this device will ever give.
    ///
    /// # Errors
    /// If answers are not taken, the device has answered otherwise, or too few servers answer: then
    /// the same command answers again.
    pub async fn answer(&mut self, device: &mut dyn Remember, answers: &[u8]) -> Result<Receipt> {
        self.driver.happen(|visitor, now| visitor.answer(now, answers));
        self.done(device, Deed::Answer).await?;
        self.confirm(device).await
    }

    /// Waits until two servers have signed for the account's answers.
    ///
    /// # Errors
    /// If no two have after a while: the same command asks again.
    pub async fn confirm(&mut self, device: &mut dyn Remember) -> Result<Receipt> {
        let signed =
            |visitor: &Visitor| visitor.receipt().filter(|receipt| receipt.is_complete()).cloned();
        let signing = async {
            loop {
                // What need not be kept any longer is forgotten before.
                match signed(self.visitor()).filter(|_| self.visitor().pending().is_none()) {
                    Some(receipt) => return Ok(receipt),
                    None => drop(self.news(device).await?),
                }
            }
        };
        tokio::time::timeout(SIGNING, signing).await.unwrap_or_else(|_| {
            Err(failure::unreachable(
                "the answer was sent, but no two servers have signed for it yet: give the same command again to be sure of it",
            ))
        })
    }

    /// Does what only a creator or who takes part does besides.
    ///
    /// # Errors
    /// If it is not possible, or the first server does not take it.
    pub async fn carry_out(&mut self, device: &mut dyn Remember, deed: Deed) -> Result<()> {
        self.driver.happen(|visitor, now| visitor.carry_out(now, deed));
        self.done(device, deed).await
    }

    /// The result; `None` if there is none yet, or will be none.
    ///
    /// # Errors
    /// If what the servers have opened does not hold.
    pub fn outcome(&self) -> Result<Option<Outcome>> {
        match self.visitor().unresolved() {
            Some(Refused::NoResult(_)) | None => Ok(self.visitor().outcome().cloned()),
            Some(wrong) => Err(refused(wrong.clone())),
        }
    }

    /// What the servers have opened.
    pub fn openings(&self) -> Vec<(PartyId, Opening)> {
        self.visitor().openings()
    }

    /// The archive of the whole decision, as it was read.
    pub fn archive(&self) -> Archive {
        let servers = self.deployment.servers.clone();
        Archive::new(servers, self.visitor().records(), &self.openings())
    }
}

/// What is refused is not authentic, unless it is this device that may not.
pub fn refused(refused: Refused) -> anyhow::Error {
    match refused {
        Refused::Device(_) => anyhow::Error::new(refused),
        other => failure::unproven(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
