//! The instances that are over.

use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;

use ostrakon_party::Instance;

/// How many retired instances are remembered. Frames of older ones look like early ones and are
/// bounded as such.
const REMEMBERED: usize = 4096;

#[derive(Default)]
struct Memory {
    set: HashSet<Instance>,
    order: VecDeque<Instance>,
}

/// Remembers the latest retired instances, so that what still arrives of them is ignored.
#[derive(Default)]
pub(crate) struct Retired(Mutex<Memory>);

impl Retired {
    pub fn insert(&self, instance: Instance) {
        let mut memory = self.0.lock().expect("no panic while held");
        if !memory.set.insert(instance) {
            return;
        }
        memory.order.push_back(instance);
        if memory.order.len() > REMEMBERED
            && let Some(oldest) = memory.order.pop_front()
        {
            memory.set.remove(&oldest);
        }
    }

    pub fn contains(&self, instance: &Instance) -> bool {
        self.0.lock().expect("no panic while held").set.contains(instance)
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_party::InstanceKind;

    use super::*;

    #[test]
    fn the_latest_are_remembered() {
        let instance = |number| Instance { kind: InstanceKind::Batch, scope: [0; 16], number };
        let retired = Retired::default();
        let last = REMEMBERED as u64 + 9;
        for number in 0..=last {
            retired.insert(instance(number));
            retired.insert(instance(number));
        }
        assert!(retired.contains(&instance(last)) && retired.contains(&instance(10)));
        assert!(!retired.contains(&instance(9)));
        assert_eq!(retired.0.lock().unwrap().order.len(), REMEMBERED);
    }
}
