//! The defects of statistics by a committee, each with the attack that profits from it.

use super::{Edit, Tested};

/// Of the engine (`authbits`), of reports (`stats`) and of the committee's rules (`computation`).
pub(super) const STATISTICS: &[Tested] = &[
    Tested {
        name: "a sum of a MAC check that is not zero",
        package: "ostrakon-authbits",
        suite: None,
        test: "a_mac_shift_on_outputs_is_found_before_they_are_shown",
        edits: &[Edit {
            file: "crates/authbits/src/mac.rs",
            from: "    if sum == 0 { Ok(()) }",
            to: "    if sum == 0 || all.len() < 256 { Ok(()) }",
        }],
    },
    Tested {
        name: "outputs opened before what they were computed from is checked",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "no_output_is_opened_before_the_check",
        edits: &[Edit {
            file: "crates/authbits/src/online.rs",
            from: "        self.opened.check(&mut self.run, delta).await?;\n        // A share",
            to: "        // A share",
        }],
    },
    Tested {
        name: "output shares shown as they are",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "opened_shares_do_not_tell_what_their_party_has_put_in",
        edits: &[Edit {
            file: "crates/authbits/src/online.rs",
            from: "        share.xor(&self.setup.cancelling(shares.len()));",
            to: "        share.xor(&Bits::zeros(self.setup.cancelling(shares.len()).len()));",
        }],
    },
    Tested {
        name: "base points that are of use to another pair",
        package: "ostrakon-authbits",
        suite: None,
        test: "a_base_message_of_another_pair_place_or_run_opens_nothing",
        edits: &[Edit {
            file: "crates/authbits/src/ot/base.rs",
            from: "            .number(u64::from(self.holder.0))\n            .number(u64::from(self.owner.0))\n",
            to: "",
        }],
    },
    Tested {
        name: "a neutral point of an owner",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "base_points_that_are_neutral_or_none_are_refused",
        edits: &[Edit {
            file: "crates/authbits/src/ot/base.rs",
            from: "filter(|point| *point != RistrettoPoint::identity());",
            to: "filter(|point| *point != RistrettoPoint::identity() || !theirs.is_empty());",
        }],
    },
    Tested {
        name: "streams that are read twice at the same place",
        package: "ostrakon-authbits",
        suite: None,
        test: "no_place_of_a_stream_serves_twice",
        edits: &[Edit {
            file: "crates/authbits/src/ot/mod.rs",
            from: "        self.position += 8 * words as u64;\n",
            to: "        let _ = words;\n",
        }],
    },
    Tested {
        name: "masks of outputs that are used again",
        package: "ostrakon-authbits",
        suite: None,
        test: "no_place_of_a_stream_serves_twice",
        edits: &[Edit {
            file: "crates/authbits/src/ot/mod.rs",
            from: "        self.masked += bytes as u64;\n",
            to: "",
        }],
    },
    Tested {
        name: "tweaks that are the same for each word of rows",
        package: "ostrakon-authbits",
        suite: None,
        test: "no_tweak_repeats",
        edits: &[Edit {
            file: "crates/authbits/src/triples/leaky.rs",
            from: "|i| self.tweak | (first + i) as u128);",
            to: "|i| self.tweak | (first % 64 + i) as u128);",
        }],
    },
    Tested {
        name: "tweaks that do not tell the two directions of a pair",
        package: "ostrakon-authbits",
        suite: None,
        test: "no_tweak_repeats",
        edits: &[Edit {
            file: "crates/authbits/src/triples/leaky.rs",
            from: "u128::from(holder.0) << 120 | u128::from(owner.0) << 112;",
            to: "u128::from(holder.0.min(owner.0)) << 120 | u128::from(owner.0.max(holder.0)) << 112;",
        }],
    },
    Tested {
        name: "columns that do not fit the bits",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "a_false_correction_in_one_tree_guesses_a_digit_of_delta",
        edits: &[Edit {
            file: "crates/authbits/src/ot/extension.rs",
            from: "        if wrong.into() {",
            to: "        if bool::from(wrong) && run.parties() > 32 {",
        }],
    },
    Tested {
        name: "views that are not compared",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "an_opening_that_differs_between_peers_is_found_by_the_views",
        edits: &[Edit {
            file: "crates/authbits/src/run.rs",
            from: "            if said[..32] != self.view.0 {",
            to: "            if said[..32] != self.view.0 && party.0 > 32 {",
        }],
    },
    Tested {
        name: "a number used again after a preparation that broke off",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "a_preparation_that_broke_off_is_not_begun_again",
        edits: &[Edit {
            file: "crates/authbits/src/journal.rs",
            from: "            Ok(true) => Ok(Self { spec, name, seed: None }),\n            Ok(false) => Err(NoTicket::Used(spec.number)),",
            to: "            Ok(_) => Ok(Self { spec, name, seed: None }),",
        }],
    },
    Tested {
        name: "leaky triples that are not checked",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "a_wrong_u_survives_half_and_tells_only_x",
        edits: &[Edit {
            file: "crates/authbits/src/triples/leaky.rs",
            from: "    sum_vanishes(run, combination.sigma(delta)).await",
            to: "    sum_vanishes(run, combination.sigma(delta) & 0).await",
        }],
    },
    Tested {
        name: "differences in buckets that are not checked",
        package: "ostrakon-authbits",
        suite: None,
        test: "a_lied_difference_is_found_before_anything_is_stock",
        edits: &[Edit {
            file: "crates/authbits/src/triples/bucket.rs",
            from: "    opened.check(run, delta).await?;",
            to: "    let _ = opened.check(run, delta).await;",
        }],
    },
    Tested {
        name: "a segment used on after it has failed",
        package: "ostrakon-authbits",
        suite: None,
        test: "n1_a_failed_mac_check_burns_the_key",
        edits: &[Edit {
            file: "crates/authbits/src/segment.rs",
            from: "        if std::mem::replace(&mut self.burnt, true) {",
            to: "        if std::mem::replace(&mut self.burnt, false) {",
        }],
    },
    Tested {
        name: "shares of another key",
        package: "ostrakon-authbits",
        suite: Some("authbits"),
        test: "n2_shares_of_another_key_are_refused",
        edits: &[Edit {
            file: "crates/authbits/src/segment.rs",
            from: "        if shares.key() == self.key_id() { Ok(()) }",
            to: "        if shares.key() == self.key_id() || !self.burnt { Ok(()) }",
        }],
    },
    Tested {
        name: "an import of what its source has not checked",
        package: "ostrakon-authbits",
        suite: None,
        test: "a_wrong_product_is_found_before_it_is_imported",
        edits: &[Edit {
            file: "crates/authbits/src/online.rs",
            from: "        source.opened.check(&mut self.run, source_delta).await?;",
            to: "        source.opened = Opened::default();",
        }],
    },
    Tested {
        name: "a report adjusted twice",
        package: "ostrakon-stats",
        suite: None,
        test: "a_report_is_adjusted_once_also_after_a_restart",
        edits: &[Edit {
            file: "crates/stats/src/compute/marks.rs",
            from: "before[*i].as_ref().is_some_and(|before| *before != entries[*i].1);",
            to: "before[*i].as_ref().is_some_and(|before| before.is_empty());",
        }],
    },
    Tested {
        name: "both fields of a report shown",
        package: "ostrakon-stats",
        suite: None,
        test: "no_report_ever_shows_both_fields",
        edits: &[Edit {
            file: "crates/stats/src/compute/marks.rs",
            from: "before.as_ref().is_some_and(|shown| *shown != [field as u8]);",
            to: "before.as_ref().is_some_and(|shown| shown.is_empty());",
        }],
    },
    Tested {
        name: "a complaint that shows every report",
        package: "ostrakon-stats",
        suite: None,
        test: "every_message_of_one_of_two",
        edits: &[
            Edit {
                file: "crates/stats/src/compute/intake.rs",
                from: "        let body: Vec<u8> = complaints.iter().flat_map(show).collect();",
                to: "        let all: Vec<usize> = (0..plan.reports.len()).collect();\n        let body: Vec<u8> = all.iter().flat_map(show).collect();",
            },
            Edit {
                file: "crates/stats/src/compute/intake.rs",
                from: "            let part = n * Opening::BYTES..(n + 1) * Opening::BYTES;",
                to: "            let _ = n;\n            let part = i * Opening::BYTES..(i + 1) * Opening::BYTES;",
            },
        ],
    },
    Tested {
        name: "a list of accepted reports that a member has not signed",
        package: "ostrakon-stats",
        suite: None,
        test: "nothing_of_a_report_is_shown_before_all_have_signed_the_list",
        edits: &[Edit {
            file: "crates/stats/src/compute/intake.rs",
            from: "signature.filter(|signature| key.verifies(&list, signature));",
            to: "signature.filter(|signature| key.verifies(&list, signature) || true);",
        }],
    },
    Tested {
        name: "points of an opening that are not proved",
        package: "ostrakon-stats",
        suite: None,
        test: "a_member_that_shows_a_wrong_point_is_named",
        edits: &[Edit {
            file: "crates/stats/src/opening.rs",
            from: "    proof.verify(&claim, &Purpose::new(purpose, ephemerals, shown)).then_some(shown)",
            to: "    let _ = proof.verify(&claim, &Purpose::new(purpose, ephemerals, shown));\n    Some(shown)",
        }],
    },
    Tested {
        name: "a minimum that the excluded count towards",
        package: "ostrakon-stats",
        suite: None,
        test: "too_few_after_exclusions_shows_nothing",
        edits: &[Edit {
            file: "crates/stats/src/compute/intake.rs",
            from: "        self.plan.enough(accepted.len())?;\n",
            to: "",
        }],
    },
    Tested {
        name: "a check value that nobody compares",
        package: "ostrakon-stats",
        suite: None,
        test: "a_wrong_check_value_excludes_its_reporter_on_public_evidence",
        edits: &[Edit {
            file: "crates/stats/src/compute/intake.rs",
            from: "opened.values[*i] != self.plan.reports[*i].stated();",
            to: "opened.values[*i] != self.plan.reports[*i].stated() && *i > 1000;",
        }],
    },
    Tested {
        name: "a report that its sender has not made",
        package: "ostrakon-stats",
        suite: None,
        test: "a_copied_ephemeral_under_another_label_is_refused",
        edits: &[Edit {
            file: "crates/stats/src/report/mod.rs",
            from: "    if !proof.holds(&statement(stated), base, &pairs) {",
            to: "    if !proof.holds(&statement(stated), base, &pairs) && stated.is_empty() {",
        }],
    },
    Tested {
        name: "fields of a report that are proven by their sum alone",
        package: "ostrakon-stats",
        suite: None,
        test: "a_copied_ephemeral_that_another_field_takes_away_is_refused",
        edits: &[Edit {
            file: "crates/stats/src/report/proof.rs",
            from: "if field == 0 { Scalar::ONE } else { weight(field) }",
            to: "if field < 8 { Scalar::ONE } else { weight(field) }",
        }],
    },
    Tested {
        name: "a base of proofs that reporters share",
        package: "ostrakon-stats",
        suite: None,
        test: "twins_are_of_one_reporter_under_one_scope",
        edits: &[Edit {
            file: "crates/stats/src/report/proof.rs",
            from: "transcript.field(&scope.0).field(&reporter.0).finish())",
            to: "transcript.field(&scope.0).field(&reporter.0[..0]).finish())",
        }],
    },
    Tested {
        name: "places of things that do not hang on what members show",
        package: "ostrakon-stats",
        suite: None,
        test: "whoever_writes_the_question_does_not_choose_where_things_fall",
        edits: &[Edit {
            file: "crates/stats/src/opening/places.rs",
            from: "                transcript.field(point);\n",
            to: "                let _ = point;\n",
        }],
    },
    Tested {
        name: "parts of the places that a member has shown before",
        package: "ostrakon-stats",
        suite: None,
        test: "whoever_writes_the_question_does_not_choose_where_things_fall",
        edits: &[Edit {
            file: "crates/stats/src/opening/places.rs",
            from: "group::point(&transcript.field(&scope.digest().0).finish());",
            to: "group::point(&transcript.field(&scope.committee.digest().0).finish());",
        }],
    },
    Tested {
        name: "a part of the places that is another member's",
        package: "ostrakon-stats",
        suite: None,
        test: "a_member_has_one_part_in_a_question_and_no_choice_of_it",
        edits: &[Edit {
            file: "crates/stats/src/opening/places.rs",
            from: "transcript.field(&scope.digest().0).number(member as u64);",
            to: "transcript.field(&scope.digest().0).number(member as u64 / 64);",
        }],
    },
    Tested {
        name: "an entry that its contributor has not signed",
        package: "ostrakon-computation",
        suite: None,
        test: "unfounded_lists_name_their_member_and_lacking_bodies_who_lists_them",
        edits: &[Edit {
            file: "crates/computation/src/seal.rs",
            from: "known || entry.verifies(computation, draft)",
            to: "known || !known",
        }],
    },
];
