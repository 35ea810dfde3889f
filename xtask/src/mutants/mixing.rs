//! The defects of mixing with guaranteed output, each with the attack that profits from it.

use super::{Edit, Tested};

/// Of the engine (`robust`) and of its servers and devices (`asynchromix`).
pub(super) const MIXING: &[Tested] = &[
    Tested {
        name: "dealings of any degree",
        package: "ostrakon-robust",
        test: "dealing_of_another_degree",
        edits: &[Edit {
            file: "crates/robust/src/machine/random.rs",
            from: "        if !fits(&points, &singles, t) || !fits(&points, &wide, 2 * t) {",
            to: "        if singles.is_empty() || wide.is_empty() && !fits(&points, &wide, 2 * t) {",
        }],
    },
    Tested {
        name: "an opening of degree 2t that looks at no degree",
        package: "ostrakon-robust",
        test: "lie_in_2t",
        edits: &[Edit {
            file: "crates/robust/src/collector.rs",
            from: "        Some(fits(&points, &fingerprints(&self.some(&here), rng), degree))",
            to: "        Some(fits(&points, &fingerprints(&self.some(&here), rng), degree) || degree > 0)",
        }],
    },
    Tested {
        name: "matrices that are not proved",
        package: "ostrakon-robust",
        test: "tagged_Pr",
        edits: &[Edit {
            file: "crates/robust/src/offline/shuffle_stock.rs",
            from: "                if self.proved(&answers) {",
            to: "                if self.proved(&answers) || !answers.is_empty() {",
        }],
    },
    Tested {
        name: "stock spent on two tables",
        package: "ostrakon-robust",
        test: "reused_matrix",
        edits: &[Edit {
            file: "crates/robust/src/offline.rs",
            from: "        if !journal.spend(self.batch, purpose) {",
            to: "        if !journal.spend(self.batch, purpose) && purpose == self.batch {",
        }],
    },
    Tested {
        name: "one b for all submissions",
        package: "ostrakon-robust",
        test: "one_b_for_all",
        edits: &[Edit {
            file: "crates/robust/src/offline/recipes.rs",
            from: "singles[..slots].iter().map(|&b| vec![b]).collect();",
            to: "singles[..slots].iter().map(|_| vec![singles[0]]).collect();",
        }],
    },
    Tested {
        name: "the last power of b left out",
        package: "ostrakon-robust",
        test: "powermix_bears_every_mutation",
        edits: &[Edit {
            file: "crates/robust/src/program/powermix.rs",
            from: "            if k == shape.powers {",
            to: "            if k > shape.powers {",
        }],
    },
    Tested {
        name: "a second row under the masks of one epoch",
        package: "ostrakon-asynchromix",
        test: "masks_of_an_epoch_that_is_over",
        edits: &[
            Edit {
                file: "crates/asynchromix/src/participant.rs",
                from: "        if epoch < self.next {\n            return false;",
                to: "        if epoch < self.next && epoch == u64::MAX {\n            return false;",
            },
            Edit {
                file: "crates/asynchromix/src/participant.rs",
                from: "slot >= slots || epoch < self.next {",
                to: "slot >= slots {",
            },
        ],
    },
    Tested {
        name: "as many places as one server tells of",
        package: "ostrakon-asynchromix",
        test: "masks_of_many_places",
        edits: &[Edit {
            file: "crates/asynchromix/src/participant.rs",
            from: "        if *attempt.told.entry(from).or_insert(told) != told {",
            to: "        if attempt.told.insert(from, told) == Some((u64::MAX, 0, 0)) {",
        }],
    },
    Tested {
        name: "shares thrown away that the checkpoint does not know",
        package: "ostrakon-asynchromix",
        test: "shares_of_a_batch_that_the_checkpoint_does_not_know",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/preparing.rs",
            from: "            let over = stock.has_begun(**number) && !stock",
            to: "            let over = !stock",
        }],
    },
];
