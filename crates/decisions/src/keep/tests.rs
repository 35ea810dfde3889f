//! What is kept, on a disk that is a list in memory. That real ones do the same is a matter of the
//! store's tests.

use std::sync::{Mutex, MutexGuard};

use futures::FutureExt;
use futures::future::ready;
use ostrakon_decide::Serial;
use ostrakon_job::{OnDisk, Subject};
use ostrakon_party::PartyId;

use super::*;

/// Items, in the order in which they came.
#[derive(Default)]
struct Disk(Mutex<Vec<Item>>);

fn find<'a>(items: &'a [Item], name: &ItemName) -> Option<&'a Item> {
    items.iter().find(|item| item.name == *name)
}

fn is_free(item: &Item, used: &[u8]) -> bool {
    item.bound.as_deref().is_none_or(|bound| bound == used)
}

fn count(items: &[Item], drawer: u8, family: Option<&[u8]>) -> u64 {
    let counts =
        |item: &&Item| item.name.0 == drawer && family.is_none_or(|family| item.family == family);
    items.iter().filter(counts).count() as u64
}

fn holds(items: &[Item], condition: &Condition) -> bool {
    match condition {
        Condition::Absent(name) => find(items, name).is_none(),
        Condition::Holds(name, body) => find(items, name).is_some_and(|item| item.body == *body),
        Condition::FreeFor(name, used) => find(items, name).is_some_and(|item| is_free(item, used)),
        Condition::Fewer(drawer, most) => count(items, *drawer, None) < *most,
        Condition::FewerOf(drawer, family, most) => count(items, *drawer, Some(family)) < *most,
    }
}

fn write(items: &mut Vec<Item>, write: Write) {
    let change = |items: &mut Vec<Item>, name: &ItemName, change: &dyn Fn(&mut Item)| {
        items.iter_mut().filter(|item| item.name == *name).for_each(change);
    };
    match write {
        Write::Put(new) => match items.iter_mut().find(|item| item.name == new.name) {
            Some(item) => *item = new,
            None => items.push(new),
        },
        Write::Bind(name, used) => {
            change(items, &name, &|item| item.bound = Some(used.clone()));
        }
        Write::Erase(name, used) => change(items, &name, &|item| {
            if is_free(item, &used) {
                (item.body, item.bound) = (Vec::new(), Some(used.clone()));
            }
        }),
        Write::Delete(name) => items.retain(|item| item.name != name),
        Write::Move(name, drawer) => {
            change(items, &name, &|item| (item.name.0, item.until) = (drawer, None));
        }
    }
}

impl Disk {
    fn items(&self) -> MutexGuard<'_, Vec<Item>> {
        self.0.lock().unwrap()
    }
}

impl Storage for Disk {
    fn words<'a>(
        &'a self,
        _: &'a Subject,
        _: u8,
        _: (u64, u32),
    ) -> OnDisk<'a, Vec<(PartyId, Vec<u8>)>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn item(&self, name: ItemName) -> OnDisk<'_, Option<Item>> {
        ready(Ok(find(&self.items(), &name).cloned())).boxed()
    }

    fn items<'a>(&'a self, drawer: u8, family: &'a [u8]) -> OnDisk<'a, Vec<Item>> {
        let of = |item: &&Item| item.name.0 == drawer && item.family == family;
        ready(Ok(Disk::items(self).iter().filter(of).cloned().collect())).boxed()
    }

    fn count_items<'a>(&'a self, drawer: u8, family: Option<&'a [u8]>) -> OnDisk<'a, u64> {
        ready(Ok(count(&Disk::items(self), drawer, family))).boxed()
    }

    fn change_items(&self, conditions: Vec<Condition>, writes: Vec<Write>) -> OnDisk<'_, bool> {
        let mut items = Disk::items(self);
        let all_hold = conditions.iter().all(|condition| holds(&items, condition));
        if all_hold {
            writes.into_iter().for_each(|one| write(&mut items, one));
        }
        ready(Ok(all_hold)).boxed()
    }

    fn forget_items(&self, drawer: u8, before: u64) -> OnDisk<'_, u64> {
        let mut items = Disk::items(self);
        let all = items.len();
        items.retain(|item| {
            let used = item.bound.is_some() && !item.body.is_empty();
            item.name.0 != drawer || item.until.is_none_or(|until| until >= before) || used
        });
        ready(Ok((all - items.len()) as u64)).boxed()
    }
}

fn now<T>(work: impl Future<Output = Result<T, Failed>>) -> T {
    work.now_or_never().expect("this disk does not wait").unwrap()
}

const ID: DecisionId = DecisionId([3; 16]);
const OTHER: DecisionId = DecisionId([4; 16]);
const OWNER: VerifyingKey = VerifyingKey([1; 32]);

fn name(serial: u8) -> KeyName {
    KeyName { owner: OWNER, serial: Serial([serial; 16]) }
}

#[test]
fn one_close_is_opened_for_good() {
    let disk = Disk::default();
    let keep = Keep(&disk);
    let bind = |close: &[u8]| now(keep.bind_opening(&ID, close, &[]));
    assert_eq!(bind(b"close"), Some(vec![]));
    assert_eq!(bind(b"other"), None);
    assert_eq!(bind(b"close"), Some(vec![]), "the same one again");
}

#[test]
fn a_share_is_used_for_one_decision() {
    let disk = Disk::default();
    let keep = Keep(&disk);
    let [first, second, not_held] = [7, 8, 9].map(name);
    for name in [first, second] {
        now(keep.keep_share(&name, 100, b"share".to_vec()));
    }
    let bind = |id, close: &[u8], names: &[KeyName]| now(keep.bind_opening(id, close, names));
    assert_eq!(bind(&ID, b"close", &[first, not_held]), Some(vec![first]));
    assert_eq!(
        bind(&OTHER, b"close of the other", &[second, first]),
        Some(vec![second]),
        "the share of the first is used elsewhere"
    );
    assert_eq!(bind(&ID, b"close", &[first]), Some(vec![first]), "the same one again");
    assert_eq!(bind(&ID, b"close", &[second]), Some(vec![]), "and the other one is not");
    assert_eq!(bind(&OTHER, b"another close", &[second]), None);
}

#[test]
fn e_mails_are_counted_by_person_and_decision() {
    let disk = Disk::default();
    for (person, may) in [(0, true), (0, true), (0, false), (1, true), (2, false), (1, false)] {
        assert_eq!(now(Keep(&disk).count_mail(&ID, person, (2, 3))), may, "{person}");
    }
    assert!(now(Keep(&disk).count_mail(&OTHER, 0, (2, 3))), "another decision");
}

#[test]
fn a_share_is_written_once() {
    let disk = Disk::default();
    let keep = Keep(&disk);
    assert_eq!(now(keep.share(&name(7))), None);
    let put = |name: &KeyName, body: &[u8]| now(keep.keep_share(name, 100, body.to_vec()));
    assert_eq!(put(&name(7), b"share"), b"share");
    assert_eq!(put(&name(7), b"other"), b"share");
    assert_eq!(now(keep.share(&name(7))).as_deref(), Some(b"share".as_slice()));
    put(&KeyName { owner: VerifyingKey([2; 32]), ..name(7) }, b"share");
    assert_eq!((now(keep.shares(Some(&OWNER))), now(keep.shares(None))), (1, 2));
}

#[test]
fn a_stock_has_a_limit_and_gives_nothing_twice() {
    let disk = Disk::default();
    let keep = Keep(&disk);
    let key = |n: u8| (name(n), vec![n; 5]);
    let add = |keys: &[_]| now(keep.add_to_stock(&OWNER, keys, 3));
    assert_eq!(add(&[key(1), key(2), key(1), key(3), key(4)]), 3);
    assert_eq!(now(keep.stock(&OWNER)), [vec![1; 5], vec![2; 5], vec![3; 5]]);
    // What is written with a record that spends a key.
    let name = key_name(&name(1));
    let writes = vec![Write::Put(spent(&name)), Write::Delete(stock(&name))];
    now(disk.change_items(Vec::new(), writes));
    assert_eq!(now(keep.stock(&OWNER)).len(), 2);
    assert_eq!(add(&[key(1)]), 2, "a spent key does not come back");
    assert!(now(keep.stock(&VerifyingKey([2; 32]))).is_empty());
}

#[test]
fn what_was_erased_does_not_come_back() {
    let disk = Disk::default();
    let keep = Keep(&disk);
    let [used, unused, elsewhere] = [7, 8, 9].map(name);
    for (name, expires) in [(used, 100), (unused, 100), (elsewhere, 50)] {
        assert_eq!(now(keep.keep_share(&name, expires, b"share".to_vec())), b"share");
    }
    now(keep.bind_opening(&ID, b"close", &[used]));
    now(keep.erase_shares(&OTHER, &[used]));
    assert_eq!(now(keep.share(&used)), Some(b"share".to_vec()), "it is another one's");
    now(keep.erase_shares(&ID, &[used]));
    assert_eq!(now(keep.keep_share(&used, 100, b"again".to_vec())), b"", "its name stays");
    assert_eq!(now(keep.share(&unused)), Some(b"share".to_vec()));
    assert_eq!(now(keep.forget_shares(50)), 0);
    assert_eq!(now(keep.forget_shares(51)), 1);
    assert_eq!(now(keep.forget_shares(101)), 2);
}

#[test]
fn a_layer_is_drawn_once_and_kept_while_it_is_needed() {
    let disk = Disk::default();
    let keep = Keep(&disk);
    let drawn =
        |drawn: Option<Drawn>| drawn.map(|drawn| (drawn.seed.expose().to_owned(), drawn.at));
    let draw = |id: u8, seed: u8, at| {
        drawn(now(keep.keep_layer(&DecisionId([id; 16]), &[seed; 32], at, 1)))
    };
    let layer = |id: u8| drawn(now(keep.layer(&DecisionId([id; 16]))));
    assert_eq!(draw(3, 1, 10), Some(([1; 32], 10)));
    assert_eq!(draw(3, 2, 11), Some(([1; 32], 10)));
    assert_eq!(draw(5, 1, 12), None, "too many");
    // What is written with a decision's first record.
    let begun = Write::Move(named(DRAFTS, &ID.0), LAYERS);
    now(disk.change_items(Vec::new(), vec![begun]));
    assert_eq!(draw(5, 5, 12), Some(([5; 32], 12)), "decisions that have begun do not count");
    assert_eq!(draw(3, 3, 13), Some(([1; 32], 10)), "and have one layer for ever");
    assert_eq!(now(keep.forget_drafts(12 + DRAFT_SECONDS)), 0);
    assert_eq!(now(keep.forget_drafts(13 + DRAFT_SECONDS)), 1);
    assert_eq!((layer(5), layer(3)), (None, Some(([1; 32], 10))));
    assert!(!now(keep.is_erased(&ID)));
    now(keep.erase_layer(&ID));
    assert!(now(keep.is_erased(&ID)));
    assert_eq!(layer(3), None);
}

#[test]
fn requests_by_a_join_link_are_bounded_and_answered_in_order() {
    let disk = Disk::default();
    let keep = Keep(&disk);
    let (id, other) = (GatheringId([3; 16]), GatheringId([9; 16]));
    assert!(now(keep.keep_link(&id, b"link", 50, 1)));
    assert!(now(keep.keep_link(&id, b"link", 50, 1)), "the same again");
    assert!(!now(keep.keep_link(&other, b"link", 50, 1)), "one too many");
    let account = |n: u8| VerifyingKey([n; 32]);
    let ask = |n, body: &[u8]| now(keep.keep_request(&id, &account(n), (body, 50), 2));
    assert!(ask(1, b"first") && ask(2, b"second"));
    assert!(ask(1, b"changed") && !ask(3, b"third"));
    assert_eq!(now(keep.requests(&id)), [&b"first"[..], b"second"]);

    // Who is refused makes room, and an older word takes nothing back.
    assert!(now(keep.keep_answer(&id, (2, b"no"), &[account(1)])));
    assert!(!now(keep.keep_answer(&id, (2, b"again"), &[account(2)])));
    assert!(!now(keep.keep_answer(&other, (3, b"no"), &[])), "no such link");
    assert!(ask(3, b"third"));
    assert_eq!(now(keep.requests(&id)), [&b"second"[..], b"third"]);
    assert!(now(keep.keep_answer(&id, (3, b"yes"), &[])));
    assert_eq!(now(keep.link(&id)), Some((b"link".to_vec(), Some(b"yes".to_vec()))));
    now(keep.forget_links(50));
    assert!(now(keep.link(&id)).is_some());
    now(keep.forget_links(51));
    assert!(now(keep.link(&id)).is_none() && now(keep.requests(&id)).is_empty());
}
