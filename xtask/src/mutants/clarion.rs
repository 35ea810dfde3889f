//! The defects of Clarion's shuffle and of messages, each with the attack that profits from it.

use super::{Edit, Tested};

const CHECKS: &str = "crates/additive/src/three/checks.rs";

/// The check of z2, and what takes its place.
const Z2_UNCHECKED: Edit = Edit {
    file: CHECKS,
    from: "stands == add(permute(pi12, &f), &g))",
    to: "stands == add(permute(pi12, &f), &g) || !f.is_empty())",
};
/// The same of S.
const S_UNCHECKED: Edit = Edit {
    file: CHECKS,
    from: "self.judge(Kind::S, stands == m)",
    to: "self.judge(Kind::S, stands == m || !m.is_empty())",
};

/// Of the engine (`additive`) and of messages (`messaging`), beside those in [`super::tested`].
pub(super) const CLARION: &[Tested] = &[
    Tested {
        name: "z2 is not checked",
        package: "ostrakon-additive",
        test: "marked_share",
        edits: &[Z2_UNCHECKED],
    },
    Tested {
        name: "z1 is not checked",
        package: "ostrakon-additive",
        test: "marked_share",
        edits: &[Edit {
            file: CHECKS,
            from: "self.judge(Kind::Z1, z == right)",
            to: "self.judge(Kind::Z1, z == right || !z.is_empty())",
        }],
    },
    Tested {
        name: "the correlation is not checked",
        package: "ostrakon-additive",
        test: "marked_share",
        edits: &[Edit {
            file: CHECKS,
            from: "stands == add(permute(pi2, &b), &b_prime))",
            to: "stands == add(permute(pi2, &b), &b_prime) || !b.is_empty())",
        }],
    },
    Tested {
        name: "S is not checked",
        package: "ostrakon-additive",
        test: "marked_share",
        edits: &[S_UNCHECKED],
    },
    Tested {
        name: "neither end of P2's way is checked",
        package: "ostrakon-additive",
        test: "cancel_at_a_guess",
        edits: &[Z2_UNCHECKED, S_UNCHECKED],
    },
    Tested {
        name: "words answered and judged whatever their digest",
        package: "ostrakon-additive",
        test: "secrets_redrawn",
        edits: &[Edit {
            file: CHECKS,
            from: "        if digest.body[..] != words.digest().0 {",
            to: "        if digest.body.is_empty() && words.digest().0 != [0; 32] {",
        }],
    },
    Tested {
        name: "a coin opened to something else",
        package: "ostrakon-additive",
        test: "coin_opened_against_its_commitment",
        edits: &[Edit {
            file: "crates/threeparty/src/coin.rs",
            from: "if opening_fails::<P>(&commitment, &opening) {",
            to: "if opening_fails::<P>(&commitment, &opening) && opening.body.is_empty() {",
        }],
    },
    Tested {
        name: "a server that is ready stops alone",
        package: "ostrakon-additive",
        test: "abort_after_ready",
        edits: &[Edit {
            file: "crates/additive/src/three/outcome.rs",
            from: "        run.send_all(Kind::Withdrawn, Vec::new());\n",
            to: "        run.send_all(Kind::Withdrawn, Vec::new());
        if votes.is_none() {
            return Err(Unmixed::Aborted { by, pair: None });
        }\n",
        }],
    },
    Tested {
        name: "pads that are not of their owner",
        package: "ostrakon-additive",
        test: "a_seed_moves_on_and_never_back",
        edits: &[Edit {
            file: "crates/additive/src/client.rs",
            from: "        about[32..].copy_from_slice(&owner.0);",
            to: "        about[32..].copy_from_slice(&[owner.0[0] & 0; 32]);",
        }],
    },
    Tested {
        name: "a row for any registration is sealed",
        package: "ostrakon-additive",
        test: "a_row_for_another_registration",
        edits: &[Edit {
            file: "crates/additive/src/three/epoch.rs",
            from: "                submission.registration() == *held.registration()
                    && submission",
            to: "                submission",
        }],
    },
    Tested {
        name: "any registration is taken for its owner's",
        package: "ostrakon-additive",
        test: "false_registration_key",
        edits: &[Edit {
            file: "crates/additive/src/three/looked.rs",
            from: "is_wellformed() && owner.verifies(&listed, &registration.signature);",
            to: "is_wellformed() || owner.verifies(&listed, &registration.signature);",
        }],
    },
    Tested {
        name: "a row twice for one round",
        package: "ostrakon-messaging",
        test: "traffic_is_equal",
        edits: &[Edit {
            file: "crates/messaging/src/rounds.rs",
            from: "if self.spent.is_some_and(|spent| round <= spent) {",
            to: "if self.spent.is_some_and(|spent| round < spent) {",
        }],
    },
    Tested {
        name: "a part that came twice is told twice",
        package: "ostrakon-messaging",
        test: "every_message_arrives_once_and_in_order",
        edits: &[Edit {
            file: "crates/messaging/src/talk.rs",
            from: "        let ahead = number.checked_sub(self.expected);",
            to: "        let ahead = Some(number.saturating_sub(self.expected));
        self.expected = self.expected.min(number);",
        }],
    },
];
