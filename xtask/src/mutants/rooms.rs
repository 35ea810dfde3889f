//! The defects of rooms without a clock, each with the attack that profits from it.

use super::{Edit, Tested};

/// Of their servers and devices (`asynchromix`).
pub(super) const ROOMS: &[Tested] = &[
    Tested {
        name: "shown to be in by a row that is held",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "receipts_of_q",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/collecting.rs",
            from: "place.agreed(self.room.trust().believed())",
            to: "self.desk.rows.get(&(number, slot)).map(|held| held.row())",
        }],
    },
    Tested {
        name: "shown to be in by one declaration",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "receipts_of_one",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/collecting.rs",
            from: "place.agreed(self.room.trust().believed())",
            to: "place.agreed(1)",
        }],
    },
    Tested {
        name: "in by one declaration, of a server that falls silent",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "liars_fall_silent_after_in",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/collecting.rs",
            from: "place.agreed(self.room.trust().believed())",
            to: "place.agreed(1)",
        }],
    },
    Tested {
        name: "one server shows that a row is in",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "in_by_t_servers",
        edits: &[Edit {
            file: "crates/asynchromix/src/participant.rs",
            from: "attempt.shown.len() >= self.room.trust().believed()",
            to: "!attempt.shown.is_empty()",
        }],
    },
    Tested {
        name: "a row is sealed that t servers declare",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "forged_second_row",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "believed)?;",
            to: "1)?;",
        }],
    },
    Tested {
        name: "a row is sealed that a corrupt server alone may hold",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "liar_that_alone_has_a_row_falls_silent",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "believed)?;",
            to: "1)?;",
        }],
    },
    Tested {
        name: "a fetched row that is not the sealed one",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "bad_fetched_row",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/mixing.rs",
            from: "submission.row() == wanted",
            to: "submission.row() == wanted || wanted != Digest([0; 32])",
        }],
    },
    Tested {
        name: "two rows of one slot",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "two_rows_of_one_slot",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "!place.has_second(&at, &row)",
            to: "!place.has_second(&at, &row) || number < 99",
        }],
    },
    Tested {
        name: "a second row without its owner's signature",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "forged_second_row",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "self.client.verifies(&at.digest(&self.client, other), signature)",
            to: concat!(
                "(self.client.verifies(&at.digest(&self.client, other), signature) ||",
                " at.epoch < 99)",
            ),
        }],
    },
    Tested {
        name: "places that nobody asked for",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "places_that_nobody_asked_for",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "request.verifies(room)",
            to: "(request.verifies(room) || epoch < 99)",
        }],
    },
    Tested {
        name: "two slots for a key",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "one_slot_for_a_key",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "|place| place.client == client)",
            to: "|place| place.client == client && epoch > 99)",
        }],
    },
    Tested {
        name: "a home without a quota",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "one_slot_for_a_key",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "self.of_home(home) >= room.quota()",
            to: "self.of_home(home) >= room.quota() + 99",
        }],
    },
    Tested {
        name: "t votes close an epoch",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "t_servers_decide_nothing",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "self.closing.len() >= room.trust().believed()",
            to: "self.closing.len() + 1 >= room.trust().believed()",
        }],
    },
    Tested {
        name: "a final list before the closing",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "t_servers_decide_nothing",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: " self.closed => {",
            to: " (self.closed || !self.closed) => {",
        }],
    },
    Tested {
        name: "one home is a crowd",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "one_home_is_not_the_minimum",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "room.is_trial()",
            to: "room.is_trial() || rows.len() < 99",
        }],
    },
    Tested {
        name: "somebody else's request",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "requests_of_others",
        edits: &[
            Edit {
                file: "crates/asynchromix/src/service/collecting.rs",
                from: "!request.verifies(&self.room)",
                to: "!request.verifies(&self.room) && request.epoch > 99",
            },
            Edit {
                file: "crates/asynchromix/src/state/epoch.rs",
                from: "request.verifies(room)",
                to: "(request.verifies(room) || epoch < 99)",
            },
        ],
    },
    Tested {
        name: "requests without end",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "more_requests_than_places",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/collecting.rs",
            from: "self.room.quota().saturating_sub(epoch.of_home(self.me))",
            to: "self.room.quota() + 99 + epoch.of_home(self.me)",
        }],
    },
    Tested {
        name: "a row that one server has ends an epoch",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_row_that_one_server_has",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: concat!(
                "s(&self, room: &Room) -> bool {\n        let believed = room.trust()",
                ".believed()",
            ),
            to: concat!(
                "s(&self, room: &Room) -> bool {\n        let believed = room.trust()",
                ".believed().min(1)",
            ),
        }],
    },
    Tested {
        name: "words longer than a record",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "more_requests_than_a_word_holds",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/collecting.rs",
            from: "MAX_ASSIGNED);",
            to: "MAX_ASSIGNED + 99);",
        }],
    },
    Tested {
        name: "too few rows are opened",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "too_few",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/mixing.rs",
            from: "seal.enough {\n                self.begin_shuffle",
            to: concat!(
                "seal.enough || seal.rows.len() < 99 {\n                self.begin_sh",
                "uffle",
            ),
        }],
    },
    Tested {
        name: "a founding that was forgotten",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "forgotten_founding",
        edits: &[Edit {
            file: "crates/asynchromix/src/founding.rs",
            from: "self.lost = true",
            to: "drop(self.confirmed.insert(from))",
        }],
    },
    Tested {
        name: "anybody tells of a lost disk",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "founding_with_a_false_witness",
        edits: &[Edit {
            file: "crates/asynchromix/src/founding.rs",
            from: "heard.is_of(&self.room, &own, self.me)",
            to: "heard.is_of(&self.room, &own, self.me) || !self.lost",
        }],
    },
    Tested {
        name: "shares that are not written down",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "crashes_cost_nobody",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/preparing.rs",
            from: "effects.writes.push(Write::Put(Key::Stock(number), bytes))",
            to: "drop(bytes)",
        }],
    },
    Tested {
        name: "a restarted server goes on in a batch",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_restart_during_preparation",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/preparing.rs",
            from: "self.preparing.begun.contains(&number)",
            to: "self.preparing.begun.contains(&number) && number > 99",
        }],
    },
    Tested {
        name: "runs that are never forgotten",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "five_servers_prepare",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/mixing.rs",
            from: "self.delivery.forget(RunId::Epoch(number))",
            to: "self.delivery.done(RunId::Epoch(number))",
        }],
    },
    Tested {
        name: "a signed entry is given up",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "draft_beyond_a_checkpoint",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/mixing.rs",
            from: "self.keep_drafts(effects)",
            to: "()",
        }],
    },
    Tested {
        name: "a state that is gone is waited for",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "state_that_is_gone",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/catching_up.rs",
            from: "*newest > commits",
            to: "*newest > commits + 9999",
        }],
    },
    Tested {
        name: "a list that binds nobody",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "who_is_not_listed",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "room.admits(&client)",
            to: "(room.admits(&client) || room.is_trial() || epoch < 99)",
        }],
    },
    Tested {
        name: "a row leaves before it is kept",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "row_leaves_after_it_is_kept",
        edits: &[Edit {
            file: "crates/asynchromix/src/visitor.rs",
            from: "self.unkept {\n            messages.retain",
            to: "self.unkept && self.ticks > 9999 {\n            messages.retain",
        }],
    },
    Tested {
        name: "an unknown message is said again",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "outcome_that_cannot_be_known",
        edits: &[Edit {
            file: "crates/asynchromix/src/participant.rs",
            from: ";\n        if self.carries()",
            to: ";\n        if self.carries() && awaited > Some(9999)",
        }],
    },
    Tested {
        name: "one server says how long the board is",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "lying_servers_show_nothing",
        edits: &[Edit {
            file: "crates/asynchromix/src/visitor.rs",
            from: "self.room.trust().corrupt())",
            to: "self.room.trust().corrupt() * usize::from(self.ticks > 9999))",
        }],
    },
    Tested {
        name: "a second row under the masks of one epoch",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "masks_of_an_epoch_that_is_over",
        edits: &[
            Edit {
                file: "crates/asynchromix/src/participant.rs",
                from: "f epoch < self.next",
                to: "f epoch < self.next && epoch == u64::MAX",
            },
            Edit {
                file: "crates/asynchromix/src/participant.rs",
                from: "| epoch < self.next",
                to: "| epoch == u64::MAX",
            },
        ],
    },
    Tested {
        name: "as many places as one server tells of",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "masks_of_many_places",
        edits: &[Edit {
            file: "crates/asynchromix/src/participant.rs",
            from: "*attempt.told.entry(from).or_insert(told) != told",
            to: "attempt.told.insert(from, told) == Some((u64::MAX, 0, 0))",
        }],
    },
    Tested {
        name: "shares thrown away that the checkpoint does not know",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "shares_of_a_batch_that_the_checkpoint",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/preparing.rs",
            from: "stock.has_begun(**number)",
            to: "(stock.has_begun(**number) || **number > 0)",
        }],
    },
    Tested {
        name: "what is shown is bound to no batch",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "records_beside_other_commitments",
        edits: &[Edit {
            file: "crates/asynchromix/src/evidence.rs",
            from: "transcript.field(&name.0).field(record)",
            to: "transcript.field(&name.0[..0]).field(record)",
        }],
    },
    Tested {
        name: "what is shown is forgotten at a start",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "what_is_shown_of_a_burnt_batch",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/preparing.rs",
            from: "Write::Put(Key::Shown(number), wire::encode(&shown))",
            to: "Write::Delete(Key::Shown(number))",
        }],
    },
    Tested {
        name: "a complaint that nobody signed",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "complaint_after_ready",
        edits: &[Edit {
            file: "crates/asynchromix/src/evidence.rs",
            from: concat!(
                "burnt.complaint().is_some()\n            && burnt.signed(room, complai",
                "ner",
            ),
            to: concat!(
                "burnt.complaint().is_some()\n            || burnt.signed(room, complai",
                "ner",
            ),
        }],
    },
    Tested {
        name: "evidence that nobody signed",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "changed_evidence_convicts",
        edits: &[Edit {
            file: "crates/asynchromix/src/evidence.rs",
            from: "if !all.all(",
            to: "if !all.any(",
        }],
    },
    Tested {
        name: "stock is prepared with who was convicted",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_groundless_complaint_convicts",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/stock.rs",
            from: "self.convicted.contains_key(member)",
            to: "self.convicted.contains_key(member) && self.spoilt > 9",
        }],
    },
    Tested {
        name: "what a convicted server has under way goes on",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_groundless_complaint_convicts",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/stock.rs",
            from: "!batch.ready && room.committee_of(**number)",
            to: "batch.ready && room.committee_of(**number)",
        }],
    },
    Tested {
        name: "nobody says that a room has ended",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_liar_in_preparation_is_convicted",
        edits: &[Edit {
            file: "crates/asynchromix/src/visitor.rs",
            from: "if stopped(&convicted) {",
            to: "if stopped(&|party| convicted(party) && away(party)) {",
        }],
    },
    Tested {
        name: "noise that is taken for a message",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_row_that_is_changed_anywhere",
        edits: &[Edit {
            file: "crates/asynchromix/src/row.rs",
            from: "tag(room, epoch, rest)[..] != *found",
            to: "found.is_empty() && tag(room, epoch, rest)[..] != *found",
        }],
    },
    Tested {
        name: "more rounds than were promised",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "four_servers_with_one_dead",
        edits: &[Edit {
            file: "crates/robust/src/rotation.rs",
            from: "pub const MOST: usize = 2;",
            to: "pub const MOST: usize = 3;",
        }],
    },
    Tested {
        name: "what is handed in is not kept",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_device_that_is_switched_off",
        edits: &[Edit {
            file: "crates/asynchromix/src/participant.rs",
            from: "let handed = self.attempt.as_ref().and_then(",
            to: "let handed = self.attempt.as_ref().filter(|a| a.epoch == u64::MAX).and_then(",
        }],
    },
    Tested {
        name: "a home that is dead is asked again and again",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "wait::a_hundred_people",
        edits: &[Edit {
            file: "crates/asynchromix/src/participant.rs",
            from: "self.turn(&[]);",
            to: "self.home %= self.room.servers();",
        }],
    },
    Tested {
        name: "places that stay with their home",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "wait::few_people_whose_homes",
        edits: &[Edit {
            file: "crates/asynchromix/src/visitor.rs",
            from: "participant.spread(&silent);",
            to: "assert!(silent.len() < 256);",
        }],
    },
    Tested {
        name: "a place goes to any home",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "places_go_to_emptier_homes_only",
        edits: &[Edit {
            file: "crates/asynchromix/src/state/epoch.rs",
            from: "rows_of(to) + 1 < rows_of(place.home)",
            to: "(to != place.home || rows_of(to) > self.rows)",
        }],
    },
    Tested {
        name: "who finds no place is not told so",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "wait::more_people_than_places",
        edits: &[Edit {
            file: "crates/asynchromix/src/visitor.rs",
            from: "taken >= self.room.shape().rows",
            to: "taken > self.room.shape().rows",
        }],
    },
    Tested {
        name: "nobody gives its state",
        package: "ostrakon-asynchromix",
        suite: Some("asynchromix"),
        test: "a_server_that_was_away_catches_up",
        edits: &[Edit {
            file: "crates/asynchromix/src/service/catching_up.rs",
            from: "Message::AskState(commits) if self.catching.serves(from, OF_STATE) => {",
            to: "Message::AskState(commits) if commits == u64::MAX => {",
        }],
    },
];
