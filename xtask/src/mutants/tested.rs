//! The defects that a test of one crate must find.

use super::{Edit, Tested};

/// Verifiers that accept every honest step, and forged ones besides.
pub(super) const TESTED: &[Tested] = &[
    Tested {
        name: "one random weight for all equations of a branch",
        package: "ostrakon-onepass",
        suite: None,
        test: "equations_whose_errors_cancel_are_each_refused",
        edits: &[Edit {
            file: "crates/onepass/src/proofs/combination.rs",
            from: "                [G::random_weight(rng), G::random_weight(rng), G::random_weight(rng)];",
            to: "                [G::random_weight(rng); 3];",
        }],
    },
    Tested {
        name: "check words answered whatever their digest",
        package: "ostrakon-additive",
        suite: Some("additive"),
        test: "false_u_before_its_digest",
        edits: &[Edit {
            file: "crates/additive/src/three/checks.rs",
            from: "        if digest.body[..] != words.digest().0 {",
            to: "        if digest.body.is_empty() && words.digest().0 != [0; 32] {",
        }],
    },
    Tested {
        name: "a row at the own address that somebody else wrote",
        package: "ostrakon-messaging",
        suite: None,
        test: "copies::",
        edits: &[Edit {
            file: "crates/messaging/src/talk.rs",
            from: "        if own_rows > usize::from(wrote) {",
            to: "        if own_rows > 2 {",
        }],
    },
    Tested {
        name: "a conversation goes on before a board was read",
        package: "ostrakon-messaging",
        suite: None,
        test: "copies::",
        edits: &[Edit {
            file: "crates/messaging/src/rounds.rs",
            from: "            Turn::Channel(_) if !self.looked => None,",
            to: "            Turn::Channel(_) if self.width == 0 => None,",
        }],
    },
    Tested {
        name: "a statement without the trail",
        package: "ostrakon-onepass",
        suite: None,
        test: "a_step_after_the_same_tables_and_another_course_is_refused",
        edits: &[Edit {
            file: "crates/onepass/src/statement.rs",
            from: "transcript.field(&place.previous.0).field(&place.trail.0);",
            to: "transcript.field(&place.previous.0).field(&[0; 32]);",
        }],
    },
    Tested {
        name: "one challenge for all ballots",
        package: "ostrakon-onepass",
        suite: None,
        test: "each_ballot_answers_a_challenge_of_its_own",
        edits: &[Edit {
            file: "crates/onepass/src/statement.rs",
            from: "&digest, b))",
            to: "&digest, b * 0))",
        }],
    },
    Tested {
        name: "a close is not vouched for",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "turnout::",
        edits: &[Edit {
            file: "crates/decide/src/chain/vouch.rs",
            from: "        if let Some(by) = silent {",
            to: "        if let Some(by) = silent.filter(|_| false) {",
        }],
    },
    Tested {
        name: "a close hides what a server holds",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "turnout::",
        edits: &[Edit {
            file: "crates/decide/src/chain/vouch.rs",
            from: "            known && (lapses || left_out.contains(&held.person))",
            to: "            known && (lapses || left_out.contains(&held.person)) && false",
        }],
    },
    Tested {
        name: "fewer than the quorum are opened",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "turnout::",
        edits: &[Edit {
            file: "crates/decide/src/chain/rules.rs",
            from: "            (answered < quorum).then(few)",
            to: "            (answered < quorum && false).then(few)",
        }],
    },
    Tested {
        name: "a device signs several steps for one place",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "a_device_hands_in_the_same_bytes_while_the_head_stands",
        edits: &[Edit {
            file: "crates/decide/src/device/visit.rs",
            from: "        memory.send(&self.id, &signed);\n",
            to: "",
        }],
    },
    Tested {
        name: "one server's receipt is enough",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "a_receipt_is_signed_by_two_servers_and_by_nobody_else",
        edits: &[Edit {
            file: "crates/decide/src/device/receipt.rs",
            from: "pub const SIGNERS: usize = 2;",
            to: "pub const SIGNERS: usize = 1;",
        }],
    },
    Tested {
        name: "whoever does not have a join link asks by it",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "nothing_that_a_server_makes_or_changes_is_taken",
        edits: &[Edit {
            file: "crates/decide/src/draft/gathering.rs",
            from: "        if !self.link.verifies(&digest, &request.invited) {",
            to: "        if false && !self.link.verifies(&digest, &request.invited) {",
        }],
    },
    Tested {
        name: "a request is made in somebody's name",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "nothing_that_a_server_makes_or_changes_is_taken",
        edits: &[Edit {
            file: "crates/decide/src/draft/gathering.rs",
            from: "        if !request.account.verifies(&digest, &request.signature) {",
            to: "        if false && !request.account.verifies(&digest, &request.signature) {",
        }],
    },
    Tested {
        name: "a server answers requests in the creator's place",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "only_the_creator_makes_the_link_and_answers",
        edits: &[Edit {
            file: "crates/decide/src/draft/gathering.rs",
            from: "        if !self.creator.verifies(&digest, &signed.signature) {",
            to: "        if false && !self.creator.verifies(&digest, &signed.signature) {",
        }],
    },
    Tested {
        name: "anybody deposits in anybody's name",
        package: "ostrakon-decide",
        suite: Some("decisions"),
        test: "a_deposit_is_its_owners_and_ends",
        edits: &[Edit {
            file: "crates/decide/src/keys/shares.rs",
            from: "        if !self.statement.owner.verifies(&digest, &self.signature) {",
            to: "        if !self.statement.owner.verifies(&digest, &self.signature) && false {",
        }],
    },
    Tested {
        name: "a server publishes on its own word",
        package: "ostrakon-node",
        suite: None,
        test: "epochs::tests",
        edits: &[Edit {
            file: "crates/node/src/state/epochs.rs",
            from: "signatures.len() >= trusts::publish(trust))",
            to: "!signatures.is_empty())",
        }],
    },
    Tested {
        name: "two servers publish, however many may be corrupt",
        package: "ostrakon-node",
        suite: None,
        test: "every_count_for_every_trust_and_number_of_servers",
        edits: &[Edit {
            file: "crates/node/src/provider/trusts.rs",
            from: "pub fn publish(trust: &Trust) -> usize {
    trust.believed()",
            to: "pub fn publish(trust: &Trust) -> usize {
    trust.believed().min(2)",
        }],
    },
    Tested {
        name: "a corrupt server alone refuses what all others publish",
        package: "ostrakon-node",
        suite: None,
        test: "no_two_honest_servers_publish_and_refuse_what_both_found",
        edits: &[Edit {
            file: "crates/node/src/provider/trusts.rs",
            from: "    left_too_few.max(trust.believed())",
            to: "    left_too_few",
        }],
    },
    Tested {
        name: "a batch is ready when one server holds it",
        package: "ostrakon-node",
        suite: None,
        test: "state::tests",
        edits: &[Edit {
            file: "crates/node/src/state/batches.rs",
            from: "        self.said.iter().zip(after).all(heard)",
            to: "        self.said.iter().zip(after).any(heard)",
        }],
    },
    Tested {
        name: "a renewal without a server that has its data",
        package: "ostrakon-node",
        suite: None,
        test: "states_of_one_server_or_of_two_generations_make_none",
        edits: &[Edit {
            file: "crates/node/src/renewal/merge.rs",
            from: "    if states.len() != needed || ",
            to: "    if states.len() > needed && ",
        }],
    },
    Tested {
        name: "a list of another number of logs is read",
        package: "ostrakon-node",
        suite: None,
        test: "what_was_said_in_the_first_language_keeps_its_form",
        edits: &[Edit {
            file: "crates/node/src/state/announcement.rs",
            from: "if read.after.len() == servers {",
            to: "if read.after.len() == servers || true {",
        }],
    },
    Tested {
        name: "corrupt servers seat everybody by taking turns",
        package: "ostrakon-node",
        suite: None,
        test: "corrupt_servers_together_do_not_outrun_the_honest_ones",
        edits: &[Edit {
            file: "crates/node/src/state/room.rs",
            from: "        let also_corrupt = self.trust.corrupt().saturating_sub(1);",
            to: "        let also_corrupt = 0;",
        }],
    },
    Tested {
        name: "who gives out slots beyond an eighth leaves the others less than the minimum",
        package: "ostrakon-node",
        suite: None,
        test: "who_gives_out_far_more_than_the_others_leaves_them_the_minimum",
        edits: &[Edit {
            file: "crates/node/src/state/room.rs",
            from: "most_beside(fuller, honest.iter().sum(), self.minimum, &self.trust)",
            to: "most_beside(fuller, honest.iter().sum(), 0, &self.trust)",
        }],
    },
    Tested {
        name: "an epoch is closed that the others do not say is due",
        package: "ostrakon-node",
        suite: Some("simulation"),
        test: "a_scheduler_whose_clock_is_ahead_closes_nothing_early",
        edits: &[
            Edit {
                file: "crates/node/src/state/mod.rs",
                from: "said.is_some_and(|said| said < **known)",
                to: "said.is_some_and(|said| said < **known) || true",
            },
            Edit {
                file: "crates/node/src/state/scheduling.rs",
                from: "let agreed = collecting.due.iter().all(|(_, said)| said.is_some());",
                to: "let agreed = is_due(collecting, room, now);",
            },
        ],
    },
    Tested {
        name: "all own words count as unechoed, not the first alone",
        package: "ostrakon-node",
        suite: None,
        test: "who_is_kept_from_echoing_by_another_is_not_silent",
        edits: &[Edit {
            file: "crates/node/src/memory/logs.rs",
            from: "waiting.contains(&first)",
            to: "waiting.last() >= Some(&first)",
        }],
    },
    Tested {
        name: "what lacks most is prepared first, however large it is",
        package: "ostrakon-node",
        suite: None,
        test: "a_giant_room_keeps_no_other_from_its_batch",
        edits: &[Edit {
            file: "crates/node/src/state/scheduling.rs",
            from: "lacking.min_by_key(|(form, lack)| lack.turn(form))",
            to: "lacking.max_by_key(|(_, lack)| lack.batches())",
        }],
    },
    Tested {
        name: "what an invitation is is told to whoever names it",
        package: "ostrakon-broadcast",
        suite: None,
        test: "what_a_key_did_not_sign_is_refused_alike",
        edits: &[Edit {
            file: "crates/broadcast/src/hosting/log.rs",
            from: "        if !claim.verifies(&self.servers, &self.room) {",
            to: "        self.members.check_claim(&claim.invitation, &claim.key)?;
        if !claim.verifies(&self.servers, &self.room) {",
        }],
    },
    Tested {
        name: "what is bound to one use can be bound to another",
        package: "ostrakon-store",
        suite: Some("contract"),
        test: "on_sqlite::an_item_is_used_for_one_thing",
        edits: &[Edit {
            file: "crates/store/src/jobs/items.rs",
            from: "bound.is_none_or(|bound| bound == *used)",
            to: "bound.is_none_or(|bound| bound == *used) || true",
        }],
    },
    Tested {
        name: "words of jobs are played by author, not as they were delivered",
        package: "ostrakon-store",
        suite: Some("contract"),
        test: "on_sqlite::words_of_jobs",
        edits: &[Edit {
            file: "crates/store/src/jobs/words.rs",
            from: "WHERE id > $1 ORDER BY id LIMIT $2",
            to: "WHERE id > $1 ORDER BY author, announcement LIMIT $2",
        }],
    },
    Tested {
        name: "two servers describe an epoch, however many may be corrupt",
        package: "ostrakon-mixing",
        suite: None,
        test: "of_other_numbers_of_servers_all_must_say_it",
        edits: &[Edit {
            file: "crates/mixing/src/envelope.rs",
            from: ".count() >= believed(one)",
            to: ".count() >= believed(one).min(2)",
        }],
    },
    Tested {
        name: "a board that one server signed",
        package: "ostrakon-broadcast",
        suite: None,
        test: "as_many_signatures_are_needed_as_one_of_which_is_honest",
        edits: &[Edit {
            file: "crates/broadcast/src/board.rs",
            from: "        if self.signatures.len() < trust.believed() {",
            to: "        if self.signatures.len() < trust.believed().min(2) {",
        }],
    },
];
