//! The defects of mixing with guaranteed output, each with the attack that profits from it.

use super::{Edit, Tested};

/// Of the engine (`robust`).
pub(super) const MIXING: &[Tested] = &[
    Tested {
        name: "vectors of any length",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "one_element_short",
        edits: &[Edit {
            file: "crates/robust/src/machine/inbox.rs",
            from: "message.has_elements(expected)",
            to: "message.body.len() < usize::MAX || message.has_elements(expected)",
        }],
    },
    Tested {
        name: "two vectors in one place",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "duplicate_share",
        edits: &[Edit {
            file: "crates/robust/src/machine/inbox.rs",
            from: "both[0].body == both[1].body",
            to: "both[0].step == both[1].step",
        }],
    },
    Tested {
        name: "no error is corrected",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "liars_are_corrected",
        edits: &[Edit {
            file: "crates/robust/src/collector.rs",
            from: "(points.len() - 2 * corrupt - 1).min(corrupt)",
            to: concat!(
                "(points.len() - 2 * corrupt - 1).min(corrupt) * usize::from(points.i",
                "s_empty())",
            ),
        }],
    },
    Tested {
        name: "rows without a pad",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "late_row_on_board",
        edits: &[Edit {
            file: "crates/robust/src/client.rs",
            from: "Fp::random(&mut tape)",
            to: "Fp::random(&mut tape) * Fp::ZERO",
        }],
    },
    Tested {
        name: "what a king tells is believed",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "king_lies_alike",
        edits: &[Edit {
            file: "crates/robust/src/collector.rs",
            from: "who_agrees(&points, &self.some(&here), committee.corrupt(), rng)?",
            to: "(0..points.len()).collect::<Vec<usize>>()",
        }],
    },
    Tested {
        name: "a dealing that is awaited no longer",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "silent_offline",
        edits: &[Edit {
            file: "crates/robust/src/machine/random.rs",
            from: "self.dealt.vector(i)",
            to: "self.dealt.vector(i).or_else(|| self.dealt.vector(self.me))",
        }],
    },
    Tested {
        name: "ready without the last word",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "one_checker_that_comes_late",
        edits: &[Edit {
            file: "crates/robust/src/offline.rs",
            from: "!self.agreed.iter().all(|&agreed| agreed)",
            to: concat!(
                "self.agreed.iter().filter(|&&agreed| agreed).count() + 1 < self.agre",
                "ed.len()",
            ),
        }],
    },
    Tested {
        name: "a batch burns after it is ready",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "complaint_after_ready",
        edits: &[Edit {
            file: "crates/robust/src/offline.rs",
            from: concat!(
                "t) -> Step<Event<Output<R>>> {\n        let mut step = Step::default",
                "();\n        if matches!(self.state, State::Burned { .. } | State::O",
                "ver | State::Committing)",
            ),
            to: concat!(
                "t) -> Step<Event<Output<R>>> {\n        let mut step = Step::default",
                "();\n        if matches!(self.state, State::Burned { .. } | State::C",
                "ommitting)",
            ),
        }],
    },
    Tested {
        name: "another seed after a restart",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "restart_with_another_seed",
        edits: &[Edit {
            file: "crates/robust/src/offline.rs",
            from: "first != self.subject.commitment(me, &self.seed)",
            to: "first != digest",
        }],
    },
    Tested {
        name: "a seed that was not committed to",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "seed_that_was_not_committed_to",
        edits: &[Edit {
            file: "crates/robust/src/offline/judge.rs",
            from: "self.commitment(members[**at], &reveal.seed) != case.commitments[**at]",
            to: "self.commitment(members[**at], &reveal.seed) == Digest([0; 32])",
        }],
    },
    Tested {
        name: "dealings that nobody signed are evidence",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "receiver_lies_about_its_dealing",
        edits: &[Edit {
            file: "crates/robust/src/offline/judge.rs",
            from: "instance.vouches(m) && truth.contradicts(m)).collect()",
            to: concat!(
                "(instance.vouches(m) || m.from != m.to) && truth.contradicts(m)).col",
                "lect()",
            ),
        }],
    },
    Tested {
        name: "who complains without a cause is not named",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "groundless_complaint",
        edits: &[Edit {
            file: "crates/robust/src/offline/judge.rs",
            from: "truth.ends_well.then_some(verdict)",
            to: "(!truth.ends_well).then_some(verdict)",
        }],
    },
    Tested {
        name: "columns that are not summed",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "doubled_row",
        edits: &[Edit {
            file: "crates/robust/src/offline/shuffle_stock.rs",
            from: "columns) {",
            to: "vec![Fp::ONE; columns.len()]) {",
        }],
    },
    Tested {
        name: "entries that are no bits",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "sums_alone_would_not_do",
        edits: &[Edit {
            file: "crates/robust/src/offline/shuffle_stock.rs",
            from: "query.holds(wires, rest[0], self.chi)",
            to: "(query.holds(wires, rest[0], self.chi) || !rest.is_empty())",
        }],
    },
    Tested {
        name: "seeds of the base field",
        package: "ostrakon-robust",
        suite: None,
        test: "dealt_seeds_are_of_the_extension",
        edits: &[Edit {
            file: "crates/robust/src/offline/shuffle_stock.rs",
            from: "Fp2::random(tape)",
            to: "Fp2::from(Fp::random(tape))",
        }],
    },
    Tested {
        name: "one coefficient more is opened",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "open_k_plus_1",
        edits: &[Edit {
            file: "crates/robust/src/online/powermix.rs",
            from: "self.sealed() * (1 + self.columns)",
            to: "self.sealed() * (1 + self.columns) + 1",
        }],
    },
    Tested {
        name: "a signature for every slot",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "two_inputs_one_mask",
        edits: &[Edit {
            file: "crates/robust/src/client.rs",
            from: "self.slot.into()",
            to: "self.epoch",
        }],
    },
    Tested {
        name: "masks that come again",
        package: "ostrakon-robust",
        suite: None,
        test: "masks_come_once",
        edits: &[Edit {
            file: "crates/robust/src/client.rs",
            from: "self.collector = None",
            to: "self.collector = Some(Collector::new(&self.committee))",
        }],
    },
    Tested {
        name: "every strange message is noted",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "strange_bytes",
        edits: &[Edit {
            file: "crates/robust/src/machine/inbox.rs",
            from: "self.told[told].insert(from)",
            to: "(self.told[told].insert(from) || told == 0)",
        }],
    },
    Tested {
        name: "dealers that choose the order alone",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "one_honest_dealer_makes",
        edits: &[Edit {
            file: "crates/robust/src/offline/shuffle_stock.rs",
            from: "uniform(self.shape.rows, tape)",
            to: "(0..self.shape.rows).collect::<Vec<_>>()",
        }],
    },
    Tested {
        name: "dealings of any degree",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "dealing_of_another_degree",
        edits: &[Edit {
            file: "crates/robust/src/machine/random.rs",
            from: "!fits(&points, &singles, t) || !fits(&points, &wide, 2 * t)",
            to: "singles.is_empty() || wide.is_empty() && !fits(&points, &wide, 2 * t)",
        }],
    },
    Tested {
        name: "an opening of degree 2t that looks at no degree",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "lie_in_2t",
        edits: &[Edit {
            file: "crates/robust/src/collector.rs",
            from: "fits(&points, &fingerprints(&self.some(&here), rng), degree)",
            to: concat!(
                "fits(&points, &fingerprints(&self.some(&here), rng), degree) || degr",
                "ee > 0",
            ),
        }],
    },
    Tested {
        name: "matrices that are not proved",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "tagged_Pr",
        edits: &[Edit {
            file: "crates/robust/src/offline/shuffle_stock.rs",
            from: "self.proved(&answers)",
            to: "self.proved(&answers) || !answers.is_empty()",
        }],
    },
    Tested {
        name: "stock spent on two tables",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "reused_matrix",
        edits: &[Edit {
            file: "crates/robust/src/offline.rs",
            from: "!journal.spend(self.batch, purpose)",
            to: "!journal.spend(self.batch, purpose) && purpose == self.batch",
        }],
    },
    Tested {
        name: "one b for all submissions",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "one_b_for_all",
        edits: &[Edit {
            file: "crates/robust/src/offline/recipes.rs",
            from: "b])",
            to: "if b != singles[0] { singles[0] } else { b }])",
        }],
    },
    Tested {
        name: "the last power of b left out",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "powermix_bears",
        edits: &[Edit {
            file: "crates/robust/src/online/powermix.rs",
            from: "k == shape.powers",
            to: "k > shape.powers",
        }],
    },
    Tested {
        name: "a coefficient beyond k in place of the last",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "open_k_plus_1",
        edits: &[Edit {
            file: "crates/robust/src/online/powermix.rs",
            from: "sum[i] * factorials[i]",
            to: "sum[i + usize::from(i + 1 == from + k)] * factorials[i]",
        }],
    },
    Tested {
        name: "sums that are not computed again",
        package: "ostrakon-robust",
        suite: None,
        test: "sums_of_nothing_are_refused",
        edits: &[Edit {
            file: "crates/robust/src/online/powermix.rs",
            from: "if self.agrees_with(&carriers) {",
            to: "if self.agrees_with(&carriers) || !carriers.is_empty() {",
        }],
    },
    Tested {
        name: "roots that are sought with their multiples",
        package: "ostrakon-robust",
        suite: None,
        test: "repeated_keys_keep_their_number",
        edits: &[Edit {
            file: "crates/robust/src/online/powermix.rs",
            from: "poly::divide(&f, &repeated).0 } else",
            to: "poly::divide(&f, &[repeated[repeated.len() - 1]]).0 } else",
        }],
    },
    Tested {
        name: "wires that their seeds do not hide",
        package: "ostrakon-robust",
        suite: None,
        test: "seed_in_base_field",
        edits: &[Edit {
            file: "crates/robust/src/offline/proof.rs",
            from: "values.fold(seed * seed_factor, ",
            to: "values.fold(seed * seed_factor * Fp2::ZERO, ",
        }],
    },
    Tested {
        name: "wires that are added without weights",
        package: "ostrakon-robust",
        suite: None,
        test: "errors_that_cancel_between_wires",
        edits: &[
            Edit {
                file: "crates/robust/src/offline/proof.rs",
                from: "weight = weight * chi;\n        }\n        proof\n",
                to: "weight = weight * chi * Fp2::ZERO + Fp2::ONE;\n        }\n        proof\n",
            },
            Edit {
                file: "crates/robust/src/offline/proof.rs",
                from: "weight = weight * chi;\n        }\n        wires",
                to: "weight = weight * chi * Fp2::ZERO + Fp2::ONE;\n        }\n        wires",
            },
        ],
    },
    Tested {
        name: "one dealer alone",
        package: "ostrakon-robust",
        suite: None,
        test: "dealers_are_t_plus_1_different_members",
        edits: &[Edit {
            file: "crates/robust/src/offline/shuffle_stock.rs",
            from: "self.dealers.len() > committee.corrupt()",
            to: "!self.dealers.is_empty()",
        }],
    },
    Tested {
        name: "elements in another encoding",
        package: "ostrakon-robust",
        suite: Some("robust"),
        test: "not_canonical",
        edits: &[Edit {
            file: "crates/robust/src/message.rs",
            from: "Fp::from_le_bytes(*word).is_ok())",
            to: "Fp::from_le_bytes(*word).is_ok() || word[7] == 0xff)",
        }],
    },
    Tested {
        name: "a network without its last iteration",
        package: "ostrakon-robust",
        suite: None,
        test: "eight_rows_are_nearly_uniform",
        edits: &[Edit {
            file: "crates/robust/src/online/butterfly.rs",
            from: "rows.ilog2() as usize + 1",
            to: "rows.ilog2() as usize",
        }],
    },
];
