//! How words of jobs are filed, and what is kept beside them, as the store has it.

use ostrakon_job::{Condition, Filed, Item, ItemName, Write};
use ostrakon_store::{self as store, ItemCondition, ItemWrite, JobItem};

/// An item's name.
pub(crate) fn name(ItemName(drawer, key): ItemName) -> store::ItemName {
    store::ItemName(drawer, key)
}

/// How a word is filed.
pub(crate) fn stored(filed: Filed) -> store::Filed {
    let Filed { kind, place, begins, drops, writes } = filed;
    store::Filed { kind, place, begins, drops, writes: changes(writes) }
}

/// An item.
pub(crate) fn item(stored: JobItem) -> Item {
    let JobItem { name: store::ItemName(drawer, key), family, body, bound, until } = stored;
    Item { name: ItemName(drawer, key), family, body, bound, until }
}

/// What must hold.
pub(crate) fn conditions(all: Vec<Condition>) -> Vec<ItemCondition> {
    let stored = |condition| match condition {
        Condition::Absent(item) => ItemCondition::Absent(name(item)),
        Condition::Holds(item, body) => ItemCondition::Holds(name(item), body),
        Condition::FreeFor(item, used) => ItemCondition::FreeFor(name(item), used),
        Condition::Fewer(drawer, most) => ItemCondition::Fewer(drawer, most),
        Condition::FewerOf(drawer, family, most) => ItemCondition::FewerOf(drawer, family, most),
    };
    all.into_iter().map(stored).collect()
}

/// What changes.
pub(crate) fn changes(all: Vec<Write>) -> Vec<ItemWrite> {
    let stored = |write| match write {
        Write::Put(Item { name: of, family, body, bound, until }) => {
            ItemWrite::Put(JobItem { name: name(of), family, body, bound, until })
        }
        Write::Bind(item, used) => ItemWrite::Bind(name(item), used),
        Write::Erase(item, used) => ItemWrite::Erase(name(item), used),
        Write::Delete(item) => ItemWrite::Delete(name(item)),
        Write::Move(item, drawer) => ItemWrite::Move(name(item), drawer),
    };
    all.into_iter().map(stored).collect()
}
