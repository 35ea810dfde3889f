//! What a server keeps of decisions for itself, beside what the servers agree on: shares of
//! one-time keys that it holds as a helper, what it drew for its layers, keys in stock, join links,
//! and how much it has mailed. Also when a generation is over: what is used once is used once for
//! ever.

use std::collections::BTreeMap;

use ostrakon_crypto::{Secret, VerifyingKey};
use ostrakon_decide::{DecisionId, GatheringId, KeyName};
use ostrakon_job::{Condition, Failed, Item, ItemName, Storage, Write};
use ostrakon_party::wire;

/// The drawer of shares of people's one-time keys, by name; bound to the one decision that each is
/// used for.
pub const SHARES: u8 = 0;
/// Names of one-time keys that stand in a decision.
const SPENT: u8 = 1;
/// Certified one-time keys whose owners are away, by name.
const STOCK: u8 = 2;
/// The drawer of what this server drew for its layers of drafts.
pub const DRAFTS: u8 = 3;
/// The drawer of the same for decisions that have begun.
pub const LAYERS: u8 = 4;
/// The drawer of digests of the one close of a decision that this server opens.
pub const OPENS: u8 = 5;
/// Decisions that are over, of which everything was erased.
const ERASED: u8 = 6;
/// Join links, what their creators said last, and who asks by them to take part.
const LINKS: u8 = 7;
const ANSWERS: u8 = 8;
const ASKERS: u8 = 9;
/// E-mails that were sent for a decision: how many to each person.
const MAILS: u8 = 10;

/// How long a draft may wait for being begun after a server has drawn its layer, in seconds.
const DRAFT_SECONDS: u64 = 24 * 3600;

/// A one-time key's name as it is filed.
pub(crate) fn key_name(name: &KeyName) -> Vec<u8> {
    [&name.owner.0[..], &name.serial.0].concat()
}

/// That a key stands in a decision.
pub(crate) fn spent(name: &[u8]) -> Item {
    Item::new(SPENT, name, Vec::new())
}

/// A key in stock.
pub(crate) fn stock(name: &[u8]) -> ItemName {
    ItemName(STOCK, name.to_vec())
}

fn named(drawer: u8, id: &[u8; 16]) -> ItemName {
    ItemName(drawer, id.to_vec())
}

fn request_of(id: &GatheringId, account: &VerifyingKey) -> ItemName {
    ItemName(ASKERS, [&id.0[..], &account.0].concat())
}

fn damaged(what: &str) -> Failed {
    Failed(format!("{what} is damaged on the disk"))
}

/// What a server drew for its layer of a decision, and when, in seconds since 1970.
pub(crate) struct Drawn {
    pub seed: Secret,
    pub at: u64,
}

/// What a server keeps, on its disk.
pub(crate) struct Keep<'a>(pub &'a dyn Storage);

/// Shares.
impl Keep<'_> {
    /// Keeps a share of a one-time key until a time (seconds since 1970), unless there is one of
    /// this name. Returns the one that is kept; no bytes if it was erased.
    pub async fn keep_share(
        &self,
        name: &KeyName,
        expires: u64,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Failed> {
        let item = Item {
            family: name.owner.0.to_vec(),
            until: Some(expires),
            ..Item::new(SHARES, &key_name(name), body)
        };
        let name = item.name.clone();
        self.0.change_items(vec![Condition::Absent(name.clone())], vec![Write::Put(item)]).await?;
        Ok(self.0.item(name).await?.map(|kept| kept.body).unwrap_or_default())
    }

    /// The share of a one-time key that this server holds.
    pub async fn share(&self, name: &KeyName) -> Result<Option<Vec<u8>>, Failed> {
        let item = self.0.item(ItemName(SHARES, key_name(name))).await?;
        Ok(item.map(|share| share.body))
    }

    /// How many shares this server holds, of all keys or of an account's.
    pub async fn shares(&self, owner: Option<&VerifyingKey>) -> Result<u64, Failed> {
        self.0.count_items(SHARES, owner.map(|owner| &owner.0[..])).await
    }

    /// Deletes shares that were to be kept until before this time and that no decision uses, and
    /// the names of erased ones. Returns how many.
    pub async fn forget_shares(&self, before: u64) -> Result<u64, Failed> {
        self.0.forget_items(SHARES, before).await
    }

    /// Binds this server to open one close of a decision, for good, and its shares of these
    /// one-time keys to be used for it and for no other decision. Returns those of the keys whose
    /// shares it holds and may use for it now; `None`, and nothing has changed, if the server is
    /// bound to another close of it.
    pub async fn bind_opening(
        &self,
        id: &DecisionId,
        close: &[u8],
        names: &[KeyName],
    ) -> Result<Option<Vec<KeyName>>, Failed> {
        loop {
            let opens = Item::new(OPENS, &id.0, close.to_vec());
            let mut conditions = vec![match self.0.item(opens.name.clone()).await? {
                None => Condition::Absent(opens.name.clone()),
                Some(bound) if bound.body == close => Condition::Holds(bound.name, close.to_vec()),
                Some(_) => return Ok(None),
            }];
            let mut writes = vec![Write::Put(opens)];
            let mut free = Vec::new();
            for name in names {
                let share = ItemName(SHARES, key_name(name));
                let Some(item) = self.0.item(share.clone()).await? else { continue };
                if item.bound.is_none_or(|used| used == id.0) {
                    conditions.push(Condition::FreeFor(share.clone(), id.0.to_vec()));
                    writes.push(Write::Bind(share, id.0.to_vec()));
                    free.push(*name);
                }
            }
            // Something may have changed since it was looked at.
            if self.0.change_items(conditions, writes).await? {
                return Ok(Some(free));
            }
        }
    }

    /// Erases shares of one-time keys, for good: their names stay, so that nothing else is taken
    /// under them.
    pub async fn erase_shares(&self, id: &DecisionId, names: &[KeyName]) -> Result<(), Failed> {
        let erase = |name| Write::Erase(ItemName(SHARES, key_name(name)), id.0.to_vec());
        self.0.change_items(Vec::new(), names.iter().map(erase).collect()).await?;
        Ok(())
    }
}

/// Stocks.
impl Keep<'_> {
    /// Adds certified one-time keys, encoded, to their owner's stock, those of unused names, until
    /// it has `most`. Returns how many it has.
    pub async fn add_to_stock(
        &self,
        owner: &VerifyingKey,
        keys: &[(KeyName, Vec<u8>)],
        most: u64,
    ) -> Result<u64, Failed> {
        for (name, body) in keys {
            let name = key_name(name);
            let conditions = vec![
                Condition::Absent(spent(&name).name),
                Condition::Absent(stock(&name)),
                Condition::FewerOf(STOCK, owner.0.to_vec(), most),
            ];
            let family = owner.0.to_vec();
            let item = Item { family, ..Item::new(STOCK, &name, body.clone()) };
            self.0.change_items(conditions, vec![Write::Put(item)]).await?;
        }
        self.0.count_items(STOCK, Some(&owner.0)).await
    }

    /// The certified one-time keys of an account's stock, encoded, the oldest first.
    pub async fn stock(&self, owner: &VerifyingKey) -> Result<Vec<Vec<u8>>, Failed> {
        let keys = self.0.items(STOCK, &owner.0).await?;
        Ok(keys.into_iter().map(|key| key.body).collect())
    }
}

/// Layers, and what is erased at the end.
impl Keep<'_> {
    /// Keeps what this server drew for its layer of a draft, at this time, unless it has drawn
    /// before, or keeps `most` for decisions that have not begun. Returns what it drew first;
    /// `None` if there are too many.
    pub async fn keep_layer(
        &self,
        id: &DecisionId,
        seed: &[u8; 32],
        now: u64,
        most: u64,
    ) -> Result<Option<Drawn>, Failed> {
        let body = [&now.to_le_bytes()[..], seed].concat();
        let until = Some(now.saturating_add(DRAFT_SECONDS));
        let item = Item { until, ..Item::new(DRAFTS, &id.0, body) };
        let new = [DRAFTS, LAYERS].map(|drawer| Condition::Absent(named(drawer, &id.0)));
        let conditions = new.into_iter().chain([Condition::Fewer(DRAFTS, most)]).collect();
        self.0.change_items(conditions, vec![Write::Put(item)]).await?;
        self.layer(id).await
    }

    /// What this server drew for its layer of a decision; `None` if it has not, or has erased it.
    pub async fn layer(&self, id: &DecisionId) -> Result<Option<Drawn>, Failed> {
        let mut drawn = None;
        for drawer in [LAYERS, DRAFTS] {
            if drawn.is_none() {
                drawn = self.0.item(named(drawer, &id.0)).await?;
            }
        }
        let read = |item: Item| {
            let (at, seed) = item.body.split_first_chunk::<8>()?;
            let seed = <[u8; 32]>::try_from(seed).ok()?;
            Some(Drawn { seed: Secret::new(seed), at: u64::from_le_bytes(*at) })
        };
        drawn
            .map(|item| read(item).ok_or_else(|| damaged("what was drawn for a layer")))
            .transpose()
    }

    /// Erases what was drawn too long before this time for decisions that have not begun.
    pub async fn forget_drafts(&self, now: u64) -> Result<u64, Failed> {
        self.0.forget_items(DRAFTS, now).await
    }

    /// Erases what was drawn for the layer of a decision, and notes that nothing is left of it to
    /// be erased ([`Keep::is_erased`]): its shares go before ([`Keep::erase_shares`]).
    pub async fn erase_layer(&self, id: &DecisionId) -> Result<(), Failed> {
        let drawn = [DRAFTS, LAYERS].map(|drawer| Write::Delete(named(drawer, &id.0)));
        let erased = Write::Put(Item::new(ERASED, &id.0, Vec::new()));
        self.0.change_items(Vec::new(), drawn.into_iter().chain([erased]).collect()).await?;
        Ok(())
    }

    /// Whether what was kept for a decision was erased when it was over.
    pub async fn is_erased(&self, id: &DecisionId) -> Result<bool, Failed> {
        Ok(self.0.item(named(ERASED, &id.0)).await?.is_some())
    }
}

/// Join links.
impl Keep<'_> {
    /// Keeps a join link until a time (seconds since 1970), unless it is kept already or there are
    /// `most`. Whether it is kept.
    pub async fn keep_link(
        &self,
        id: &GatheringId,
        body: &[u8],
        until: u64,
        most: u64,
    ) -> Result<bool, Failed> {
        let item = Item { until: Some(until), ..Item::new(LINKS, &id.0, body.to_vec()) };
        let name = item.name.clone();
        let conditions = vec![Condition::Absent(name.clone()), Condition::Fewer(LINKS, most)];
        self.0.change_items(conditions, vec![Write::Put(item)]).await?;
        Ok(self.0.item(name).await?.is_some())
    }

    /// A join link and what its creator said last, encoded; `None` if there is no such link.
    pub async fn link(
        &self,
        id: &GatheringId,
    ) -> Result<Option<(Vec<u8>, Option<Vec<u8>>)>, Failed> {
        let Some(link) = self.0.item(named(LINKS, &id.0)).await? else { return Ok(None) };
        let word = self.answer(id).await?.map(|(_, _, word)| word);
        Ok(Some((link.body, word)))
    }

    /// What a creator said last, as it is kept, its number and the word.
    async fn answer(&self, id: &GatheringId) -> Result<Option<(Vec<u8>, u32, Vec<u8>)>, Failed> {
        let Some(item) = self.0.item(named(ANSWERS, &id.0)).await? else { return Ok(None) };
        let (number, word) =
            wire::decode(&item.body).map_err(|_| damaged("what was said of a join link"))?;
        Ok(Some((item.body, number, word)))
    }

    /// Keeps the request of an account until a time, its first one, unless `most` others are kept.
    /// Whether one of the account is kept.
    pub async fn keep_request(
        &self,
        id: &GatheringId,
        account: &VerifyingKey,
        (body, until): (&[u8], u64),
        most: u64,
    ) -> Result<bool, Failed> {
        let name = request_of(id, account);
        let (family, until) = (id.0.to_vec(), Some(until));
        let item = Item { family, until, ..Item::new(ASKERS, &name.1, body.to_vec()) };
        let room = Condition::FewerOf(ASKERS, id.0.to_vec(), most);
        let conditions = vec![Condition::Absent(name.clone()), room];
        self.0.change_items(conditions, vec![Write::Put(item)]).await?;
        Ok(self.0.item(name).await?.is_some())
    }

    /// The requests that are kept of a join link, encoded.
    pub async fn requests(&self, id: &GatheringId) -> Result<Vec<Vec<u8>>, Failed> {
        let requests = self.0.items(ASKERS, &id.0).await?;
        Ok(requests.into_iter().map(|request| request.body).collect())
    }

    /// Keeps what a creator says, in place of what it said before, and drops the requests of these
    /// accounts. Whether there is such a link, and the word has a higher number than that.
    pub async fn keep_answer(
        &self,
        id: &GatheringId,
        (number, word): (u32, &[u8]),
        refused: &[VerifyingKey],
    ) -> Result<bool, Failed> {
        let link = named(LINKS, &id.0);
        loop {
            let Some(kept) = self.0.item(link.clone()).await? else { return Ok(false) };
            let last = match self.answer(id).await? {
                None => Condition::Absent(named(ANSWERS, &id.0)),
                Some((_, before, _)) if before >= number => return Ok(false),
                Some((body, ..)) => Condition::Holds(named(ANSWERS, &id.0), body),
            };
            let body = wire::encode(&(number, word.to_vec()));
            let answer = Item { until: kept.until, ..Item::new(ANSWERS, &id.0, body) };
            let dropped = refused.iter().map(|account| Write::Delete(request_of(id, account)));
            let writes = [Write::Put(answer)].into_iter().chain(dropped).collect();
            let conditions = vec![Condition::Holds(link.clone(), kept.body), last];
            if self.0.change_items(conditions, writes).await? {
                return Ok(true);
            }
        }
    }

    /// Deletes the join links that were to be kept until before this time, with their requests.
    pub async fn forget_links(&self, before: u64) -> Result<(), Failed> {
        for drawer in [ASKERS, ANSWERS, LINKS] {
            self.0.forget_items(drawer, before).await?;
        }
        Ok(())
    }
}

/// E-mails.
impl Keep<'_> {
    /// Counts one more e-mail to a person of a decision, unless as many were sent to it, or for the
    /// whole decision, as may be: whether one more may be sent.
    pub async fn count_mail(
        &self,
        id: &DecisionId,
        person: u16,
        (most, most_of_decision): (u32, u32),
    ) -> Result<bool, Failed> {
        let name = named(MAILS, &id.0);
        loop {
            let before = self.0.item(name.clone()).await?;
            let (condition, mut sent) = match before {
                None => (Condition::Absent(name.clone()), BTreeMap::<u16, u32>::new()),
                Some(Item { body, .. }) => {
                    let sent = wire::decode(&body).map_err(|_| damaged("how much was mailed"))?;
                    (Condition::Holds(name.clone(), body), sent)
                }
            };
            let to_person = sent.get(&person).copied().unwrap_or(0);
            if to_person >= most || sent.values().sum::<u32>() >= most_of_decision {
                return Ok(false);
            }
            sent.insert(person, to_person + 1);
            let item = Item::new(MAILS, &id.0, wire::encode(&sent));
            if self.0.change_items(vec![condition], vec![Write::Put(item)]).await? {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests;
