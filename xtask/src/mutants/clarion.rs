//! The defects of Clarion's shuffle and of messages, each with the attack that profits from it.

use super::{Edit, Tested};

const CHECKS: &str = "crates/additive/src/three/checks.rs";
const REGISTRATION: &str = "crates/additive/src/three/registration.rs";
const EPOCH: &str = "crates/additive/src/three/epoch.rs";
const SEALING: &str = "crates/additive/src/three/sealing.rs";
const SEAL: &str = "crates/threeparty/src/seal.rs";
const RUN: &str = "crates/threeparty/src/run.rs";
const SETUP: &str = "crates/threeparty/src/setup.rs";
const HANDED: &str = "crates/additive/src/three/handed/mod.rs";
const DIAL: &str = "crates/messaging/src/dial.rs";
const CHAIN: &str = "crates/messaging/src/chain.rs";

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

/// What is heard in a broadcast is echoed before it is on record, by either engine.
const ECHOED_FIRST: Edit = Edit {
    file: RUN,
    from: "        let heard = headers(&statements);\n",
    to: "        let seen = self.peers().map(|peer| statements[usize::from(peer)].signed);
        self.party.send_all(self.tag(protocol::echo(step)), wire::encode(&seen));
        let heard = headers(&statements);\n",
};

/// Of the engine (`additive`) and of messages (`messaging`), beside those in [`super::tested`].
pub(super) const CLARION: &[Tested] = &[
    Tested {
        name: "z2 is not checked",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "marked_share",
        edits: &[Z2_UNCHECKED],
    },
    Tested {
        name: "z1 is not checked",
        package: "ostrakon-additive",
        suite: Some("additive"),
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
        suite: Some("additive"),
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
        suite: Some("additive"),
        test: "marked_share",
        edits: &[S_UNCHECKED],
    },
    Tested {
        name: "neither end of P2's way is checked",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "cancel_at_a_guess",
        edits: &[Z2_UNCHECKED, S_UNCHECKED],
    },
    Tested {
        name: "words answered and judged whatever their digest",
        package: "ostrakon-additive",
        suite: Some("additive"),
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
        suite: Some("additive"),
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
        suite: Some("additive"),
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
        suite: None,
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
        suite: Some("additive"),
        test: "a_row_for_another_registration",
        edits: &[Edit {
            file: SEALING,
            from: "                submission.registration() == *held.registration()
                    && submission",
            to: "                submission",
        }],
    },
    Tested {
        name: "any registration is taken for its owner's",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "false_registration_key",
        edits: &[Edit {
            file: "crates/additive/src/three/handed/looked.rs",
            from: "is_wellformed() && owner.verifies(&listed, &registration.signature);",
            to: "is_wellformed() || owner.verifies(&listed, &registration.signature);",
        }],
    },
    Tested {
        name: "a seed that another holder gives is not tested",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "false_forwarded_seed",
        edits: &[Edit {
            file: REGISTRATION,
            from: "&seed[..]) == entry.commitment(pair)",
            to: "&seed[..]) == entry.commitment(pair) || !seed.is_empty()",
        }],
    },
    Tested {
        name: "one holder drops a participant",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "one_holder_vetoes",
        edits: &[Edit {
            file: REGISTRATION,
            from: "pair.members().into_iter().all(|member| self.lacks",
            to: "pair.members().into_iter().any(|member| self.lacks",
        }],
    },
    Tested {
        name: "a second vote on who is registered",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "gets_no_second_vote",
        edits: &[Edit {
            file: REGISTRATION,
            from: "map_err(Unregistered::Marks)? != digest.0 {",
            to: "map_err(Unregistered::Marks)?.is_empty() {",
        }],
    },
    Tested {
        name: "a list changes over a crash: a second word on who lacks seeds, or a second seal",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "joint::a_list_changed_after_a_crash",
        edits: &[Edit {
            file: SEAL,
            from: "run.broadcast_recorded(steps::SUBMISSION_LIST, body, marks).await?;",
            to: "run.broadcast(steps::SUBMISSION_LIST, body).await?;",
        }],
    },
    Tested {
        name: "conflict details change over a crash",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "lives::conflict_details_are_echoed",
        edits: &[Edit {
            file: SEAL,
            from: "run.broadcast_recorded(steps::CONFLICT_DETAILS, body, marks).await? {",
            to: "run.broadcast(steps::CONFLICT_DETAILS, { let _ = marks; body }).await? {",
        }],
    },
    Tested {
        name: "an echo of Clarion's broadcasts before what it depends on is on record",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "lives::a_commitment_to_a_coin_is_echoed",
        edits: &[ECHOED_FIRST],
    },
    Tested {
        name: "an echo of Ruffle's broadcasts before what it depends on is on record",
        package: "ostrakon-replicated",
        suite: Some("replicated"),
        test: "lives::a_list_is_echoed",
        edits: &[ECHOED_FIRST],
    },
    Tested {
        name: "another ephemeral key is heard when the set-up is repeated",
        package: "ostrakon-replicated",
        suite: Some("replicated"),
        test: "setup::an_ephemeral_key_is_the_same",
        edits: &[Edit {
            file: SETUP,
            from: "run.broadcast_recorded(steps::SETUP_KEY, own, marks).await?;",
            to: "run.broadcast(steps::SETUP_KEY, own).await?;",
        }],
    },
    Tested {
        name: "another contribution to the session when the set-up is repeated",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "setup::a_contribution_to_the_session",
        edits: &[
            Edit {
                file: SETUP,
                from: "draw(b\"nonce\"), &draw(b\"coin\"), marks).await?;",
                to: "draw(b\"nonce\"), &draw(b\"coin\"), &Unwritten).await?;",
            },
            Edit {
                file: SETUP,
                from: "committed.open(run, marks).await?;",
                to: "committed.open(run, &Unwritten).await?;",
            },
        ],
    },
    Tested {
        name: "two words of its own under one step",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "lives::who_has_another_own_list_on_record",
        edits: &[Edit {
            file: RUN,
            from: "        if before[own].contradicts(&heard[own]) {",
            to: "        if before[own].contradicts(&heard[own]) && heard.is_empty() {",
        }],
    },
    Tested {
        name: "lacks of another list are answered, and its speaker suspected",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "joint::who_speaks_of_another_list",
        edits: &[Edit {
            file: REGISTRATION,
            from: "said.body[..ABOUT] != accepted.0) {",
            to: "said.body[..ABOUT] != accepted.0 && said.body.is_empty()) {",
        }],
    },
    Tested {
        name: "a registration's signature is named by no submission",
        package: "ostrakon-mixing",
        suite: None,
        test: "a_copy_that_was_changed",
        edits: &[Edit {
            file: "crates/additive/src/client.rs",
            from: "digest(\"ostrakon/v1/clarion/registration bytes\", bytes)",
            to: "digest(\"ostrakon/v1/clarion/registration bytes\", &bytes[..bytes.len() - 64])",
        }],
    },
    Tested {
        name: "a row counts that does not name its registration",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "these_bytes_only",
        edits: &[Edit {
            file: HANDED,
            from: "(submitted.registration() == name).then(|| {",
            to: "(submitted.registration() != Digest([0; 32])).then(|| {",
        }],
    },
    Tested {
        name: "what was found of other bytes counts for those kept",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "these_bytes_only",
        edits: &[Edit {
            file: HANDED,
            from: "print.is_some() && print == self.prints.of(bytes)",
            to: "print.is_some() && self.prints.of(bytes).is_some()",
        }],
    },
    Tested {
        name: "a commitment to a coin changes over a crash",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "coin_committed_twice",
        edits: &[Edit {
            file: RUN,
            from: "marks.record(&name, &wire::encode(heard)).map_err(Unheard::Marks)?;",
            to: "{ let _ = marks; wire::encode(heard) };",
        }],
    },
    Tested {
        name: "an opening of a coin changes over a crash",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "lives::an_opening_of_a_coin_is_echoed",
        edits: &[Edit {
            file: "crates/threeparty/src/coin.rs",
            from: "run.broadcast_recorded(self.steps.1, self.body, marks).await?;",
            to: "run.broadcast(self.steps.1, { let _ = marks; self.body }).await?;",
        }],
    },
    Tested {
        name: "another table after a crash is answered",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "_after_crash",
        edits: &[Edit {
            file: EPOCH,
            from: "        if standing.contradicts(&received.signed) {",
            to: "        if standing.contradicts(&received.signed) && received.body.is_empty() {",
        }],
    },
    Tested {
        name: "tables that sender and receiver state otherwise",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "a_table_is_stated_otherwise",
        edits: &[Edit {
            file: EPOCH,
            from: "Some(before) if before.contradicts(&header) => {",
            to: "Some(before) if before.contradicts(&header) && party > 2 => {",
        }],
    },
    Tested {
        name: "who has a link sees who calls it",
        package: "ostrakon-messaging",
        suite: None,
        test: "a_mark_is_of_the_exchange",
        edits: &[Edit {
            file: DIAL,
            from: "    shared.fill(\"ostrakon/v1/messaging/mark\", &[&context.0], &mut mark);",
            to: "    let _ = shared;
    Secret::new([7; 32]).fill(\"ostrakon/v1/messaging/mark\", &[&context.0], &mut mark);",
        }],
    },
    Tested {
        name: "a caller names a link that is another's",
        package: "ostrakon-messaging",
        suite: None,
        test: "a_caller_proves_its_link",
        edits: &[Edit {
            file: DIAL,
            from: "            if plain[83..99] != proof {",
            to: "            if plain[83..99] != proof && plain.is_empty() {",
        }],
    },
    Tested {
        name: "covers of calls are random bytes",
        package: "ostrakon-messaging",
        suite: None,
        test: "dial_cover_distinguisher",
        edits: &[Edit {
            file: DIAL,
            from: "    row[EXCHANGE].copy_from_slice(&fresh(rng).exchange().public());\n    row\n",
            to: "    let _ = fresh(rng);\n    row\n",
        }],
    },
    Tested {
        name: "a bit of marks that is always set",
        package: "ostrakon-messaging",
        suite: None,
        test: "dial_cover_distinguisher",
        edits: &[Edit {
            file: DIAL,
            from: "    shared.fill(\"ostrakon/v1/messaging/mark\", &[&context.0], &mut mark);",
            to: "    shared.fill(\"ostrakon/v1/messaging/mark\", &[&context.0], &mut mark);
    mark[3] |= 1;",
        }],
    },
    Tested {
        name: "a bit of addresses that is always clear",
        package: "ostrakon-messaging",
        suite: None,
        test: "talking_and_idle_rows_are_alike",
        edits: &[Edit {
            file: CHAIN,
            from: "        address\n    }",
            to: "        address[5] &= 0xfb;\n        address\n    }",
        }],
    },
    Tested {
        name: "what is said again has the keys of the round before",
        package: "ostrakon-messaging",
        suite: None,
        test: "what_is_said_again_after_a_doubtful_opening",
        edits: &[Edit {
            file: CHAIN,
            from: "    fn step(&mut self) {",
            to: "    fn step(&mut self) {
        if self.cycle % 2 == 1 {
            self.cycle += 1;
            return;
        }",
        }],
    },
    Tested {
        name: "a row twice for one round",
        package: "ostrakon-messaging",
        suite: None,
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
        suite: None,
        test: "every_message_arrives_once_and_in_order",
        edits: &[Edit {
            file: "crates/messaging/src/talk.rs",
            from: "        let ahead = number.checked_sub(self.expected);",
            to: "        let ahead = Some(number.saturating_sub(self.expected));
        self.expected = self.expected.min(number);",
        }],
    },
];
