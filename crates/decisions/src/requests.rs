//! What a running server answers about private decisions.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use futures::FutureExt;
use ostrakon_crypto::{Signature, VerifyingKey};
use ostrakon_decide::keys::{MOST_STOCK, STOCK, receipt_digest, stock_digest};
use ostrakon_decide::{
    CertifiedKey, Chain, DecisionId, Deposit, Draft, HeldShare, HelperKey, InvalidKey, Layer,
    SignedRecord,
};
use ostrakon_job::{Creator, SCHEDULER};
use ostrakon_party::wire;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::{
    DecisionInfo, DecisionMade, DepositReceipt, LayerInfo, OpeningInfo, RecordTaken, RecordsPage,
    StockLevel,
};
use zeroize::Zeroizing;

use crate::keep::Drawn;
use crate::limits::Hourly;
use crate::records::CLOCK_SECONDS;
use crate::server::{DecisionServer, no_decision};
use crate::state::{Decisions, MOST_DECISIONS};
use crate::word::{OPENINGS, RECORDS, Word};
use crate::{course, holding};

/// Records that the disk is asked for at once, and the bytes of an answer, roughly.
const READ_RECORDS: u32 = 16;
const PAGE_BYTES: usize = 1 << 20;
/// Layers that a server has drawn for drafts that were not begun, at most.
const MOST_LAYERS: u64 = 10_000;
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

impl DecisionServer {
    /// Step 1: the key to which shares of one-time keys are sealed for this server.
    ///
    /// # Errors
    /// `Refused` if there are not three servers.
    pub fn helper_key(&self) -> Result<HelperKey, ServiceError> {
        Ok(HelperKey::of(self.port.identity(), self.me(), &self.operators()?))
    }

    /// Step 2: takes a share of a one-time key ([`Deposit`], encoded). It is on disk before the
    /// receipt leaves. The same one again has the same receipt. `origin` stands for the address
    /// that it came from, if limits by address hold.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Conflict` if another key has this serial; `Busy`;
    /// `Unavailable`.
    pub async fn deposit(
        &self,
        origin: Option<u64>,
        bytes: &[u8],
    ) -> Result<DepositReceipt, ServiceError> {
        // What goes into an old copy of the data is lost when the newest is put back.
        self.port.may_speak().await?;
        let operators = self.operators()?;
        let deposit = Deposit::decode(bytes).map_err(invalid)?;
        let identity = self.port.identity();
        let held = deposit.open(identity, self.me(), &operators, self.now()).map_err(invalid)?;
        let (name, expires) = (held.statement().name(), held.statement().expires);
        let keep = self.keep();
        if keep.share(&name).await?.is_none() {
            let by_address = &self.limits.shares_by_address;
            self.count_by_address(by_address, origin, MOST_SHARES_BY_ADDRESS)?;
            self.make_room_for_share(&name.owner).await?;
        }
        let kept = keep.keep_share(&name, expires, held.to_bytes().to_vec()).await?;
        // Sharings are a function of owner and serial; so the same deposit again gives the same
        // share.
        if HeldShare::from_bytes(&kept).is_none_or(|kept| kept.statement() != held.statement()) {
            return Err(ServiceError::Conflict(
                "another key was deposited under this serial: take a fresh one".into(),
            ));
        }
        let digest = receipt_digest(&operators, self.me(), held.statement());
        Ok(DepositReceipt { receipt: identity.sign(&digest) })
    }

    fn count_by_address(
        &self,
        counts: &Mutex<Hourly>,
        origin: Option<u64>,
        most: u32,
    ) -> Result<(), ServiceError> {
        let now = self.port.now_ms();
        if counts.lock().expect("no panic while held").note(origin, now, most) {
            return Ok(());
        }
        Err(ServiceError::Busy(
            "this address has asked for that as often as it may within an hour: try again in the next one".into(),
        ))
    }

    /// Counts one more share, unless there are too many.
    async fn make_room_for_share(&self, owner: &VerifyingKey) -> Result<(), ServiceError> {
        if self.keep().shares(Some(owner)).await? >= MOST_SHARES {
            return Err(ServiceError::Busy(
                "this account has deposited as many keys as it may: make another one".into(),
            ));
        }
        if self.limits.shares.fetch_add(1, Ordering::Relaxed) >= MOST_SHARES_IN_ALL {
            return Err(ServiceError::Busy(
                "this server holds as many shares as it can: use another deployment".into(),
            ));
        }
        Ok(())
    }

    /// Step 3: adds certified one-time keys (a list of [`CertifiedKey`], encoded) to an account's
    /// stock.
    ///
    /// # Errors
    /// `Refused` says what is wrong with one; `Elsewhere` names the first server if this is
    /// another; `Unavailable`.
    pub async fn add_to_stock(
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
                Ok((key.statement.name(), wire::encode(key)))
            };
            keys.iter().map(row).collect::<Result<Vec<_>, _>>()
        };
        let keys = self.port.blocking(verify).await.ok_or(ServiceError::Internal)??;
        let stock = self.keep().add_to_stock(&owner, &keys, MOST_STOCK as u64).await?;
        let server = Arc::clone(self);
        self.port.spawn(async move { course::serve_account(&server, owner).await }.boxed());
        Ok(StockLevel { stock, wanted: STOCK as u64 })
    }

    /// Step 3: how many one-time keys an account has in stock, to the owner alone, who signs the
    /// time ([`stock_digest`]): it tells when somebody is asked.
    ///
    /// # Errors
    /// `Forbidden`, `Elsewhere`, `Unavailable`.
    pub async fn stock_level(
        &self,
        owner: VerifyingKey,
        (time, signature): (u64, Signature),
    ) -> Result<StockLevel, ServiceError> {
        self.sequencer_only()?;
        let digest = stock_digest(&self.operators()?, &owner, time);
        let fresh = time.abs_diff(self.now()) <= CLOCK_SECONDS;
        if !fresh || !owner.verifies(&digest, &signature) {
            return Err(ServiceError::Forbidden(
                "the stock of an account is told to its owner, who signs the request with the time; is this device's clock right?".into(),
            ));
        }
        let stock = self.keep().stock(&owner).await?.len() as u64;
        Ok(StockLevel { stock, wanted: STOCK as u64 })
    }

    /// Step 5: this operator's layer key for a draft ([`Draft`], encoded). An address may ask for
    /// as many new ones within an hour as it may create rooms.
    ///
    /// # Errors
    /// `Refused` says what is wrong with the draft; `Busy` if the address (`origin`) has asked for
    /// too many; `Unavailable`.
    pub async fn layer(
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
        let Drawn { seed, at } = self.draw_layer(origin, &draft.id()).await?;
        let (identity, mut randomness) = (self.port.identity(), self.randomness());
        let layer =
            Layer::of((&seed, at), identity, self.me(), &operators, &draft, &mut randomness)
                .map_err(invalid)?;
        Ok(LayerInfo { party: self.me().0, layer: BASE64URL_NOPAD.encode(&wire::encode(&layer)) })
    }

    /// Step 5: what was drawn for the layer, and when, is on disk before the layer leaves.
    async fn draw_layer(
        &self,
        origin: Option<u64>,
        id: &DecisionId,
    ) -> Result<Drawn, ServiceError> {
        self.port.may_speak().await?;
        let has_begun =
            |decisions: &Decisions| decisions.get(id).is_some() || decisions.ended.contains(id);
        let begun = self.read(has_begun);
        let before = self.keep().layer(id).await?;
        let kept = if begun || before.is_some() {
            before
        } else {
            let most = self.port.per_hour_and_address();
            self.count_by_address(&self.limits.layers_by_address, origin, most)?;
            let mut fresh = Zeroizing::new([0; 32]);
            self.port.fill(&mut fresh[..]);
            self.keep().keep_layer(id, &fresh, self.now(), MOST_LAYERS).await?
        };
        kept.ok_or_else(|| {
            ServiceError::Busy(
                "this server holds as many drafts that were not begun as it can, or this one is over: try again later, with a new draft".into(),
            )
        })
    }

    /// Step 6: begins a decision with its first record. The same one again is accepted again.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Busy` names a quota; `Elsewhere`, `Unavailable`.
    pub async fn create_decision(
        self: &Arc<Self>,
        creator: Creator,
        bytes: &[u8],
    ) -> Result<DecisionMade, ServiceError> {
        self.sequencer_only()?;
        let signed = SignedRecord::decode(bytes)?;
        let id = signed.record.decision;
        let made = Ok(DecisionMade { id: id.to_hex() });
        let chain = Chain::begin(self.operators()?, &signed)?;
        if self.read(|decisions| decisions.ended.contains(&id)) {
            let text = "this decision ended when the servers began again after one had lost its data: create another one";
            return Err(ServiceError::Conflict(text.into()));
        }
        if self.holds_record(&id, 0, bytes).await? {
            return made;
        }
        let now = self.now();
        chain
            .draft()
            .validate_deadline(now)
            .map_err(|error| ServiceError::Refused(error.to_string()))?;
        if !chain.is_fresh(now) {
            return Err(ServiceError::Refused(
                "the servers' layers were drawn too long before, and may be erased by now: begin anew, with a new draft".into(),
            ));
        }
        if self.read(|decisions| decisions.kept.len()) >= MOST_DECISIONS {
            return Err(ServiceError::Busy(format!(
                "this deployment keeps {MOST_DECISIONS} decisions and takes no more: use another deployment"
            )));
        }
        self.port.count_creation(creator)?;
        self.say(id, Word::Record(bytes.to_vec())).await?;
        self.note("creator", "create decision", &id.to_hex()).await;
        let server = Arc::clone(self);
        self.port.spawn(async move { course::fill_from_stock(&server, id).await }.boxed());
        made
    }

    /// Steps 8, 9, 13 and 17: takes the next record of a decision; it is on disk when this returns.
    /// The same one again is accepted again.
    ///
    /// # Errors
    /// `Conflict` if another record came first; `Refused` says what is wrong with it; `NotFound`,
    /// `Busy`, `Elsewhere`, `Unavailable`.
    pub async fn append_record(
        self: &Arc<Self>,
        id: DecisionId,
        bytes: &[u8],
    ) -> Result<RecordTaken, ServiceError> {
        if self.me() != SCHEDULER {
            return self.hold_record(id, bytes).await;
        }
        let taken = self.take_record_in(id, bytes, false).await;
        // It may have come between what others hold and the chain, or be what made room for it.
        let server = Arc::clone(self);
        self.port.spawn(async move { holding::take_what_is_held(&server, id).await }.boxed());
        taken
    }

    /// How a decision stands here.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn decision(&self, id: DecisionId) -> Result<DecisionInfo, ServiceError> {
        let info = self.read(|decisions| decisions.info(&id)).ok_or_else(no_decision)?;
        let refusals = self.limits.refusals.lock().expect("no panic while held");
        let refusal = refusals.get(&id).cloned().or(info.refusal);
        Ok(DecisionInfo { refusal, ..info })
    }

    fn must_exist(&self, id: &DecisionId) -> Result<(), ServiceError> {
        if self.read(|decisions| decisions.get(id).is_some()) { Ok(()) } else { Err(no_decision()) }
    }

    /// Returns as soon as a decision has record `from`, or more than `opened` servers have opened
    /// it, and after `wait` anyway.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn records_reach(
        &self,
        id: DecisionId,
        (from, opened): (u32, usize),
        wait: Duration,
    ) -> Result<(), ServiceError> {
        self.must_exist(&id)?;
        let more = |decisions: &Decisions| {
            let decision = decisions.get(&id);
            decision
                .is_none_or(|decision| decision.length() > from || decision.opened.len() > opened)
        };
        self.port.timeout(wait, self.port.wait_for(&id.0, more)).await;
        Ok(())
    }

    /// The records of a decision from number `from` on, and what the servers have opened.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn records(&self, id: DecisionId, from: u32) -> Result<RecordsPage, ServiceError> {
        self.must_exist(&id)?;
        let openings = self.filed(&id, OPENINGS, (0, READ_RECORDS)).await?;
        let shown = openings.iter().map(|(party, opening)| OpeningInfo {
            party: party.0,
            opening: BASE64URL_NOPAD.encode(opening),
        });
        let openings = shown.collect();
        let mut records = Vec::new();
        let (mut next, mut bytes) = (u64::from(from), 0);
        while bytes < PAGE_BYTES {
            let rows = self.filed(&id, RECORDS, (next, READ_RECORDS)).await?;
            let complete = rows.len() < READ_RECORDS as usize;
            for (_, row) in rows {
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
