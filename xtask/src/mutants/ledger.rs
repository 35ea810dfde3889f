//! The defects of the asynchronous ledger, each with the attack that profits from it.

use super::{Edit, Tested};

/// Of the ledger and its coin (`agreement`).
pub(super) const LEDGER: &[Tested] = &[
    Tested {
        name: "t votes commit a leader",
        package: "ostrakon-agreement",
        suite: None,
        test: "no_graph_of_two_waves",
        edits: &[Edit {
            file: "crates/agreement/src/dag/order.rs",
            from: "votes(graph, &direct) < params.believed()",
            to: "votes(graph, &direct) + 1 < params.believed()",
        }],
    },
    Tested {
        name: "q - 1 votes certify a block",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "split_certificate",
        edits: &[Edit {
            file: "crates/agreement/src/params.rs",
            from: "self.trust.awaited()",
            to: "self.trust.awaited() - 1",
        }],
    },
    Tested {
        name: "a vote that is not written down",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "forgotten_vote",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/voter.rs",
            from: concat!(
                "step.writes.push(Write::Put(Key::Voted(round, author), wire::encode(",
                "&block.digest())))",
            ),
            to: "()",
        }],
    },
    Tested {
        name: "a vote for each of two blocks in a place",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "split_certificate",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/voter.rs",
            from: concat!(
                "let fault = Fault::TwoBlocks(here.header(), block.signed().header())",
                ";\n                self.convict(fault, step)",
            ),
            to: concat!(
                "let slot = block.reference().slot();\n                self.take_bloc",
                "k(block);\n                drop(self.voted.remove(&slot))",
            ),
        }],
    },
    Tested {
        name: "a copy that is not noticed",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "old_copy_restored",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/sync.rs",
            from: "own_block || own_vote",
            to: "own_block && own_vote && self.sync.welcomed.len() > 99",
        }],
    },
    Tested {
        name: "the newest vote alone in a welcome",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "old_copy_without_an_older_vote",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/sync.rs",
            from: "MAX_WELCOME_VOTES);\n        votes",
            to: "1);\n        votes",
        }],
    },
    Tested {
        name: "a first round of readmission below earlier votes",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "old_copy_restored",
        edits: &[Edit {
            file: "crates/agreement/src/dag/message.rs",
            from: concat!(
                "rounds.map(|highest| highest.block.round).max().unwrap_or(0).saturat",
                "ing_add(2)",
            ),
            to: "rounds.count().min(1) as u64",
        }],
    },
    Tested {
        name: "another's petition is one's own",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "old_petition_begins_nothing",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/readmission.rs",
            from: "self.lost.asked == Some(Some(agreed.nonce))",
            to: "self.lost.asked.is_some()",
        }],
    },
    Tested {
        name: "the first petition alone is heard",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "restarts_between_petitions",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/readmission.rs",
            from: "self.agreed.readmissions.get(&(from, self.me)) == Some(&vote)",
            to: "self.agreed.readmissions.contains_key(&(from, self.me))",
        }],
    },
    Tested {
        name: "blocks that name no older ones",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "starved_author",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/author.rs",
            from: "round - older.round < self.params.horizon()",
            to: "older.round > round",
        }],
    },
    Tested {
        name: "what expires is not said anew",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "starved_author",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/author.rs",
            from: ") {\n            self.owe_again(payload)",
            to: ") {\n            drop(payload)",
        }],
    },
    Tested {
        name: "an author that never waits longer",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "author_with_slow_votes",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/author.rs",
            from: "PATIENCE.saturating_mul(1 << self.author.given_up.min(24))",
            to: "PATIENCE",
        }],
    },
    Tested {
        name: "nobody is shown a checkpoint",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "parent_below_checkpoint",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/sync.rs",
            from: "stable.agreed.commits > status.commits",
            to: "stable.agreed.commits > status.commits.saturating_add(9999)",
        }],
    },
    Tested {
        name: "a checkpoint on the disk that is not told",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "adopted_checkpoint_is_told_again",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/mod.rs",
            from: "step.outputs.push(Output::Adopted { commits, state })",
            to: "drop((commits, state))",
        }],
    },
    Tested {
        name: "each server's own dropping for a horizon",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "fork_without_horizon",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/mod.rs",
            from: "leader.round.saturating_sub(self.params.horizon())",
            to: "self.graph.floor()",
        }],
    },
    Tested {
        name: "votes below the line",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "block_below_the_line_has_no_vote",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/voter.rs",
            from: "self.graph.floor().max(self.agreed.line(&self.params))",
            to: "self.graph.floor()",
        }],
    },
    Tested {
        name: "no block without a record",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "idle_deadlock",
        edits: &[
            Edit {
                file: "crates/agreement/src/dag/ledger/author.rs",
                from: "!self.unordered.is_empty()",
                to: "self.unordered.len() > 9999",
            },
            Edit {
                file: "crates/agreement/src/dag/ledger/author.rs",
                from: "self.author.round < self.graph.top()",
                to: "self.graph.top() == u64::MAX",
            },
        ],
    },
    Tested {
        name: "a coin share with the votes",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "coin_before_votes",
        edits: &[Edit {
            file: "crates/agreement/src/params.rs",
            from: "2).filter(|round| leads",
            to: "1).filter(|round| leads",
        }],
    },
    Tested {
        name: "coin shares that are not checked",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "coin_share_with_a_failing_proof",
        edits: &[Edit {
            file: "crates/agreement/src/block.rs",
            from: "holds(&params.coin_label(round), share)",
            to: "holds(&params.coin_label(round), share) || round > 0",
        }],
    },
    Tested {
        name: "a session without the coin",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "servers_of_another_coin",
        edits: &[Edit {
            file: "crates/agreement/src/params.rs",
            from: "&coin.0",
            to: "&session.0.0",
        }],
    },
    Tested {
        name: "one block is evidence of two",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "invented_evidence",
        edits: &[Edit {
            file: "crates/agreement/src/fault.rs",
            from: "first != second",
            to: "first.round == second.round",
        }],
    },
    Tested {
        name: "blocks of any round are kept",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "absurd_messages",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/mod.rs",
            from: "round <= self.top().saturating_add(WINDOW)",
            to: "round < u64::MAX - self.top() + 99 - WINDOW",
        }],
    },
    Tested {
        name: "nothing is dropped",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "dead_server_costs_no_memory",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/checkpoints.rs",
            from: "floor);\n        self.voted",
            to: "floor / 9);\n        self.voted",
        }],
    },
    Tested {
        name: "a welcome for each question",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "questions_at_a_start",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/sync.rs",
            from: "!self.sync.greeted.insert(from)",
            to: "!self.sync.greeted.insert(from) && nonce == [0; 32]",
        }],
    },
    Tested {
        name: "a named block may be unknown to its voters",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "names_an_unknown_one",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/voter.rs",
            from: "self.is_known(&reference)",
            to: "self.is_settled(&reference)",
        }],
    },
    Tested {
        name: "shares of fewer than t + 1 make a coin",
        package: "ostrakon-agreement",
        suite: None,
        test: "any_t_plus_1_shares",
        edits: &[Edit {
            file: "crates/agreement/src/coin.rs",
            from: "self.needed)?",
            to: "self.needed.min(shares.len()))?",
        }],
    },
    Tested {
        name: "a key that its dealer sealed wrongly is signed",
        package: "ostrakon-agreement",
        suite: None,
        test: "bad_dealer",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/machine.rs",
            from: "self.share_of(*dealer, own).is_none()",
            to: "self.share_of(*dealer, own).is_none() && dealer.0 > 99",
        }],
    },
    Tested {
        name: "a dealing of an unknown secret",
        package: "ostrakon-agreement",
        suite: None,
        test: "copied_dealing_has_no_proof",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/dealing.rs",
            from: "self.possession.verifies(of, context, &points[0])",
            to: "(self.possession.verifies(of, context, &points[0]) || needed > 0)",
        }],
    },
    Tested {
        name: "a complaint with another's key",
        package: "ostrakon-agreement",
        suite: None,
        test: "complaint_with_another_s_key",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/machine.rs",
            from: "RistrettoPoint::mul_base(&key) == own",
            to: "RistrettoPoint::mul_base(&key) == own || !fits",
        }],
    },
    Tested {
        name: "an opening that was not committed to",
        package: "ostrakon-agreement",
        suite: None,
        test: "opening_that_does_not_fit",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/machine.rs",
            from: "opening.dealing.digest(dealer, &self.context) != committed",
            to: concat!(
                "opening.dealing.commitments.is_empty() && opening.dealing.digest(dea",
                "ler, &self.context) != committed",
            ),
        }],
    },
    Tested {
        name: "a complaint that is not written down",
        package: "ostrakon-agreement",
        suite: None,
        test: "complaint_is_remembered",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/machine.rs",
            from: concat!(
                "step.write = Some((self.context.attempt, self.transcript_messages())",
                ");\n        let own",
            ),
            to: concat!(
                "if dealers.iter().all(|dealer| self.share_of(dealer, (self.me, &*sel",
                "f.exchange)).is_some()) {\n            step.write = Some((self.conte",
                "xt.attempt, self.transcript_messages()));\n        };\n        let o",
                "wn",
            ),
        }],
    },
    Tested {
        name: "an earlier key after a later one is signed",
        package: "ostrakon-agreement",
        suite: None,
        test: "key_of_an_earlier_attempt",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/attempts.rs",
            from: "other.has_signed()",
            to: "other.has_finished()",
        }],
    },
    Tested {
        name: "keys that serve every attempt",
        package: "ostrakon-agreement",
        suite: None,
        test: "bad_dealer_keeps_keys",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/machine.rs",
            from: "[&context.founding.0, &attempt.to_le_bytes()]",
            to: "[&context.founding.0, &0_u32.to_le_bytes()]",
        }],
    },
    Tested {
        name: "another key after one that is finished",
        package: "ostrakon-agreement",
        suite: None,
        test: "nothing_is_signed_after_a_finished_key",
        edits: &[Edit {
            file: "crates/agreement/src/dkg/attempts.rs",
            from: "(i != at && other.has_finished()) || ",
            to: "",
        }],
    },
    Tested {
        name: "a checkpoint that t servers signed",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "checkpoint_of_t_signatures",
        edits: &[Edit {
            file: "crates/agreement/src/dag/ledger/checkpoints.rs",
            from: "if !checkpoint.is_signed_by(self.params.believed(), ",
            to: "if !checkpoint.is_signed_by(self.params.believed() - 1, ",
        }],
    },
    Tested {
        name: "one server's signature counts twice",
        package: "ostrakon-agreement",
        suite: Some("agreement"),
        test: "checkpoint_of_t_signatures",
        edits: &[Edit {
            file: "crates/agreement/src/block.rs",
            from: "votes.is_sorted_by(|a, b| a.0 < b.0)",
            to: "votes.is_sorted_by(|a, b| a.0 <= b.0)",
        }],
    },
];
