//! What a running server answers about private decisions. `docs/spec/decide.md` is the
//! specification; its steps are named here.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Secret, Signature, VerifyingKey};
use ostrakon_decide::keys::{MOST_STOCK, STOCK, receipt_digest, stock_digest};
use ostrakon_decide::{
    CertifiedKey, Chain, DecisionId, Deposit, Draft, HeldShare, HelperKey, InvalidKey, Layer,
    SignedRecord,
};
use ostrakon_party::wire;
use ostrakon_store::Drawn;
use zeroize::Zeroizing;

use crate::answers::internal;
use crate::core::Core;
use crate::decisions::records::{CLOCK_SECONDS, no_decision, randomness};
use crate::decisions::{course, holding};
use crate::disk::audit;
use crate::ledger::agree::AnnounceError;
use crate::ledger::freshness;
use crate::memory::creations::{Creator, Hourly};
use crate::state::decisions::{Course, MOST_DECISIONS};
use crate::state::{SCHEDULER, World};
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::{
    DecisionInfo, DecisionMade, DecisionStage, DepositReceipt, LayerInfo, OpeningInfo, RecordTaken,
    RecordsPage, StockLevel,
};

/// Records that the store is asked for at once, and the bytes of an answer, roughly.
const READ_RECORDS: u32 = 16;
const PAGE_BYTES: usize = 1 << 20;
/// Layers that a server has drawn for drafts that were not begun, at most.
const MOST_LAYERS: u32 = 10_000;
/// Shares that a server holds of one account's keys at most.
const MOST_SHARES: u64 = 4096;
/// Shares that one address may deposit within an hour: enough for a group of two hundred people
/// behind one address.
const MOST_SHARES_BY_ADDRESS: u32 = 2048;
/// Shares that a server holds at most, of some 400 bytes each.
const MOST_SHARES_IN_ALL: u64 = 2_000_000;

fn invalid(error: InvalidKey) -> ServiceError {
    ServiceError::Refused(error.to_string())
}

impl Core {
    /// Step 1.
    pub(crate) fn helper_key(&self) -> Result<HelperKey, ServiceError> {
        Ok(HelperKey::of(&self.identity, self.me(), &self.operators()?))
    }

    /// Step 2: the share is on disk before the receipt leaves.
    /// `origin` stands for the address that it came from.
    pub(crate) async fn deposit(
        &self,
        origin: Option<u64>,
        bytes: &[u8],
    ) -> Result<DepositReceipt, ServiceError> {
        // What goes into an old copy of the data is lost when the newest is put back.
        freshness::allowed(&self.standing).await.map_err(AnnounceError::Silent)?;
        let operators = self.operators()?;
        let deposit = Deposit::decode(bytes).map_err(invalid)?;
        let now = self.platform.now_ms() / 1000;
        let held = deposit.open(&self.identity, self.me(), &operators, now).map_err(invalid)?;
        let (name, expires) = (held.statement().name(), held.statement().expires);
        let name = (name.owner.0, name.serial.0);
        if self.store.held_share(&name).await.map_err(internal)?.is_none() {
            let by_address = &self.decisions.shares_by_address;
            self.count_by_address(by_address, origin, MOST_SHARES_BY_ADDRESS)?;
            self.make_room_for_share(&name.0).await?;
        }
        let kept =
            self.store.keep_share(&name, expires, &held.to_bytes()).await.map_err(internal)?;
        // Sharings are a function of owner and serial; so the same deposit again gives the same
        // share.
        if HeldShare::from_bytes(&kept).is_none_or(|kept| kept.statement() != held.statement()) {
            return Err(ServiceError::Conflict(
                "another key was deposited under this serial: take a fresh one".into(),
            ));
        }
        let digest = receipt_digest(&operators, self.me(), held.statement());
        Ok(DepositReceipt { receipt: self.identity.sign(&digest) })
    }

    fn count_by_address(
        &self,
        counts: &Mutex<Hourly>,
        origin: Option<u64>,
        most: u32,
    ) -> Result<(), ServiceError> {
        let now = self.platform.now_ms();
        if counts.lock().expect("no panic while held").note(origin, now, most) {
            return Ok(());
        }
        Err(ServiceError::Busy(
            "this address has asked for that as often as it may within an hour: try again in the next one".into(),
        ))
    }

    /// Counts one more share, unless there are too many.
    async fn make_room_for_share(&self, owner: &[u8; 32]) -> Result<(), ServiceError> {
        if self.store.held_shares_of(owner).await.map_err(internal)? >= MOST_SHARES {
            return Err(ServiceError::Busy(
                "this account has deposited as many keys as it may: make another one".into(),
            ));
        }
        if self.decisions.shares.fetch_add(1, Ordering::Relaxed) >= MOST_SHARES_IN_ALL {
            return Err(ServiceError::Busy(
                "this server holds as many shares as it can: use another deployment".into(),
            ));
        }
        Ok(())
    }

    /// Step 3.
    pub(crate) async fn add_to_stock(
        self: &Arc<Self>,
        owner: VerifyingKey,
        bytes: &[u8],
    ) -> Result<StockLevel, ServiceError> {
        self.sequencer_only()?;
        let malformed = |_| ServiceError::Refused("this is no list of certified keys".into());
        let keys: Vec<CertifiedKey> = wire::decode(bytes).map_err(malformed)?;
        if keys.is_empty() || keys.len() > MOST_STOCK {
            return Err(ServiceError::Refused(format!(
                "a stock takes 1 to {MOST_STOCK} keys at once"
            )));
        }
        let operators = self.operators()?;
        let verify = move || {
            let row = |key: &CertifiedKey| {
                if key.statement.owner != owner {
                    return Err(ServiceError::Refused(
                        "a key in the list belongs to another account".into(),
                    ));
                }
                key.verify(&operators).map_err(invalid)?;
                Ok((key.statement.serial.0, wire::encode(key)))
            };
            keys.iter().map(row).collect::<Result<Vec<_>, _>>()
        };
        let rows = self.platform.blocking(verify).await.ok_or(ServiceError::Internal)??;
        let stock =
            self.store.add_stock_keys(&owner.0, &rows, MOST_STOCK).await.map_err(internal)?;
        self.spawn(course::serve_account(Arc::clone(self), owner));
        Ok(StockLevel { stock, wanted: STOCK as u64 })
    }

    /// Step 3: to the owner alone, for it tells when somebody is asked.
    pub(crate) async fn stock_level(
        &self,
        owner: VerifyingKey,
        (time, signature): (u64, Signature),
    ) -> Result<StockLevel, ServiceError> {
        self.sequencer_only()?;
        let digest = stock_digest(&self.operators()?, &owner, time);
        let fresh = time.abs_diff(self.platform.now_ms() / 1000) <= CLOCK_SECONDS;
        if !fresh || !owner.verifies(&digest, &signature) {
            return Err(ServiceError::Forbidden(
                "the stock of an account is told to its owner, who signs the request with the time; is this device's clock right?".into(),
            ));
        }
        let stock = self.store.stock_keys(&owner.0).await.map_err(internal)?.len() as u64;
        Ok(StockLevel { stock, wanted: STOCK as u64 })
    }

    /// Step 5.
    /// An address may ask for as many new ones within an hour as it may create rooms.
    pub(crate) async fn layer(
        &self,
        origin: Option<u64>,
        bytes: &[u8],
    ) -> Result<LayerInfo, ServiceError> {
        let operators = self.operators()?;
        let draft: Draft =
            wire::decode(bytes).map_err(|_| ServiceError::Refused("this is no draft".into()))?;
        draft.validate().map_err(|error| ServiceError::Refused(error.to_string()))?;
        if draft.servers != operators.digest {
            return Err(ServiceError::Refused("the draft is for other servers".into()));
        }
        let (drawn, at) = self.draw_layer(origin, &draft.id()).await?;
        let mut randomness = randomness(&self.platform);
        let layer =
            Layer::of((&drawn, at), &self.identity, self.me(), &operators, &draft, &mut randomness)
                .map_err(invalid)?;
        Ok(LayerInfo { party: self.me().0, layer: BASE64URL_NOPAD.encode(&wire::encode(&layer)) })
    }

    /// Step 5: what was drawn for the layer, and when, is on disk before the layer leaves.
    async fn draw_layer(
        &self,
        origin: Option<u64>,
        id: &DecisionId,
    ) -> Result<(Secret, u64), ServiceError> {
        freshness::allowed(&self.standing).await.map_err(AnnounceError::Silent)?;
        let begun = {
            let decisions = &self.world().decisions;
            decisions.kept.contains_key(id) || decisions.ended.contains(id)
        };
        let before = self.store.layer(&id.0).await.map_err(internal)?;
        let kept = if begun || before.is_some() {
            before
        } else {
            let most = self.config.rooms.per_hour_and_address;
            self.count_by_address(&self.decisions.layers_by_address, origin, most)?;
            let mut fresh = Zeroizing::new([0; 32]);
            self.platform.fill(&mut fresh[..]);
            let now = self.platform.now_ms() / 1000;
            let kept = self.store.keep_layer(&id.0, &fresh[..], now, MOST_LAYERS).await;
            kept.map_err(internal)?
        };
        let read = |drawn: Drawn| Some((Secret::new(drawn.seed.try_into().ok()?), drawn.at));
        kept.and_then(read).ok_or_else(|| {
            ServiceError::Busy(
                "this server holds as many drafts that were not begun as it can, or this one is over: try again later, with a new draft".into(),
            )
        })
    }

    /// Step 6.
    pub(crate) async fn create_decision(
        self: &Arc<Self>,
        creator: Creator,
        bytes: &[u8],
    ) -> Result<DecisionMade, ServiceError> {
        self.sequencer_only()?;
        let signed = SignedRecord::decode(bytes)?;
        let id = signed.record.decision;
        let made = Ok(DecisionMade { id: id.to_hex() });
        let chain = Chain::begin(self.operators()?, &signed)?;
        if self.world().decisions.ended.contains(&id) {
            let text = "this decision ended when the servers began again after one had lost its data: create another one";
            return Err(ServiceError::Conflict(text.into()));
        }
        if self.holds_record(&id, 0, bytes).await? {
            return made;
        }
        let now = self.platform.now_ms();
        chain
            .draft()
            .validate_deadline(now / 1000)
            .map_err(|error| ServiceError::Refused(error.to_string()))?;
        if !chain.is_fresh(now / 1000) {
            return Err(ServiceError::Refused(
                "the servers' layers were drawn too long before, and may be erased by now: begin anew, with a new draft".into(),
            ));
        }
        if self.world().decisions.kept.len() >= MOST_DECISIONS {
            return Err(ServiceError::Busy(format!(
                "this deployment keeps {MOST_DECISIONS} decisions and takes no more: use another deployment"
            )));
        }
        if let Creator::Guest(origin) = creator {
            let mut creations = self.desk.creations.lock().expect("no panic while held");
            creations.note(&self.config.rooms, origin, now)?;
        }
        self.announce_record(id, bytes.to_vec()).await?;
        audit::note(&self.store, now, "creator", "create decision", &id.to_hex()).await;
        self.spawn(course::fill_from_stock(Arc::clone(self), id));
        made
    }

    /// Steps 8, 9, 13 and 17: takes the next record of a decision.
    pub(crate) async fn append_record(
        self: &Arc<Self>,
        id: DecisionId,
        bytes: &[u8],
    ) -> Result<RecordTaken, ServiceError> {
        if self.me() != SCHEDULER {
            return self.hold_record(id, bytes).await;
        }
        let taken = self.take_record_in(id, bytes, false).await;
        // It may have come between what others hold and the chain, or be what made room for it.
        self.spawn(holding::take_what_is_held(Arc::clone(self), id));
        taken
    }

    pub(crate) fn decision(&self, id: &DecisionId) -> Result<DecisionInfo, ServiceError> {
        let world = self.world();
        let decision = world.decisions.kept.get(id).ok_or_else(no_decision)?;
        let (people, answered, verified, deadline) = match &decision.course {
            Course::UnderWay(chain) => {
                (chain.remaining(), chain.answered(), chain.verified(), chain.draft().deadline)
            }
            Course::Ended(ended) => {
                (ended.remaining(), ended.answered(), ended.verified(), ended.deadline())
            }
        };
        let refusal = self.decisions.refusals.lock().expect("no panic while held").get(id).cloned();
        Ok(DecisionInfo {
            id: id.to_hex(),
            records: decision.length(),
            head: decision.head().to_hex(),
            stage: DecisionStage::of(decision.stage(), decision.is_opened()),
            people,
            answered,
            verified,
            deadline,
            openings: decision.opened.iter().map(|party| party.0).collect(),
            refusal: refusal.or_else(|| decision.shortage.clone()),
        })
    }

    /// Returns as soon as the chain has record `from` or more than `opened` servers have opened it,
    /// and after `wait` anyway.
    pub(crate) async fn records_reach(
        &self,
        id: DecisionId,
        (from, opened): (u32, usize),
        wait: Duration,
    ) -> Result<(), ServiceError> {
        self.world().decisions.kept.get(&id).ok_or_else(no_decision)?;
        let more = |world: &World| {
            let decision = world.decisions.kept.get(&id);
            decision
                .is_none_or(|decision| decision.length() > from || decision.opened.len() > opened)
        };
        self.platform.timeout(wait, self.wait_until(more)).await;
        Ok(())
    }

    pub(crate) async fn records(
        &self,
        id: DecisionId,
        from: u32,
    ) -> Result<RecordsPage, ServiceError> {
        self.world().decisions.kept.get(&id).ok_or_else(no_decision)?;
        let openings = self.store.decision_openings(&id.0).await.map_err(internal)?;
        let shown = |(party, opening): &(ostrakon_party::PartyId, Vec<u8>)| OpeningInfo {
            party: party.0,
            opening: BASE64URL_NOPAD.encode(opening),
        };
        let openings = openings.iter().map(shown).collect();
        let mut records = Vec::new();
        let (mut next, mut bytes) = (from, 0);
        while bytes < PAGE_BYTES {
            let rows =
                self.store.decision_records(&id.0, next, READ_RECORDS).await.map_err(internal)?;
            let complete = rows.len() < READ_RECORDS as usize;
            for row in rows {
                next += 1;
                bytes += row.len();
                records.push(BASE64URL_NOPAD.encode(&row));
            }
            if complete {
                break;
            }
        }
        Ok(RecordsPage { records, openings })
    }
}
