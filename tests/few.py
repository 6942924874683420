"""Tests of which `make test` runs the first few, or none: the others are long. What is left sees each kind of fault once.

A test that looks at one thing on page after page, in theme after theme or for case after case keeps a few of them; one that takes
many seconds for what faster tests see too keeps none.
"""

# How many run, by file and name of the test.
FEW = {
    "test_answer": {"test_an_odd_price_is_asked_about_wherever_it_decides": 1},
    "test_answer_in_browser": {"test_a_script_that_did_not_load_is_said": 1,
                               "test_rents_of_ones_own_are_laid_over_the_book_as_in_python": 1,
                               "test_the_ends_of_what_may_be_given_are_the_same": 0},
    "test_answers": {"test_a_build_says_which_headlines_changed_and_a_page_what_it_lacks": 0,
                     "test_gpus_reach_the_notebooks_that_read_gpus": 0},
    "test_budget": {"test_a_larger_budget_never_gives_less": 0, "test_a_cheaper_price_never_gives_less": 0,
                    "test_the_load_found_costs_at_most_the_budget_and_the_next_costs_more": 0, "test_only_firm_prices_count": 0,
                    "test_the_table_says_what_binds": 0},
    "test_build": {"test_nothing_outlives_a_build_that_is_stopped": 0, "test_a_build_killed_while_it_swaps_leaves_a_site": 0,
                   "test_a_change_that_shows_nowhere_makes_no_page": 0, "test_the_line_of_a_cell_that_failed_is_shown": 1,
                   "test_a_site_that_is_not_as_it_was_made_is_made_again": 0,
                   "test_a_chart_that_cannot_be_drawn_stops_the_build_without_a_traceback": 0,
                   "test_sphinx_starts_before_the_scripts_are_made": 0, "test_no_clock_matters": 0,
                   "test_a_run_says_what_still_runs_and_which_page_took_longest": 0,
                   "test_a_process_that_the_machine_ends_once_is_forgiven": 0, "test_recorded_outputs_are_the_same_each_time": 0,
                   "test_data_edited_during_a_run_and_put_back": 0, "test_processes_have_the_libraries_and_share_nothing": 0,
                   "test_an_edition_that_is_not_whole_is_made_again": 0,
                   "test_a_notebook_that_warns_and_one_whose_process_dies_twice_are_named": 0,
                   "test_a_recording_of_another_processor_is_left_as_it_is_but_for_its_hash": 0},
    "test_capacity": {"test_a_tighter_limit_never_takes_fewer_gpus": 0},
    "test_case_file": {"test_no_load_is_so_large_or_small_that_its_answer_is_not_found": 0},
    "test_catalogue_page": {"test_it_is_accessible_and_as_wide_as_the_page": 0,
                            "test_an_address_that_says_nothing_changes_nothing": 1, "test_paper_has_the_table_and_no_buttons": 0},
    "test_drills_in_browser": {"test_an_address_that_says_nothing_is_borne": 1,
                               "test_blocked_storage_and_what_is_no_progress_are_borne": 0,
                               "test_topics_are_folded_on_a_phone_and_named": 0, "test_a_sheet_is_printed_with_its_key": 0},
    "test_front": {"test_hostile_texts_in_every_input": 0, "test_nonsense_is_refused_beside_its_input": 2,
                   "test_a_preset_survives_its_address_and_its_yaml": 1, "test_every_input_of_a_job_is_on_the_page": 2,
                   "test_a_phone_needs_no_sideways_scrolling_and_no_small_target": 1, "test_several_gpus_are_chosen_by_box": 0,
                   "test_an_address_names_what_it_leaves_out": 0, "test_nothing_is_copied_while_the_page_names_a_fault": 0,
                   "test_two_cases_of_different_kinds_are_not_compared": 0,
                   "test_paper_has_the_case_and_the_answers_but_no_buttons": 0, "test_a_link_to_a_heading_is_no_case": 0,
                   "test_of_many_faults_ten_are_named_and_the_rest_counted": 0,
                   "test_a_copied_cell_is_two_calls_of_plain_values": 0, "test_a_copy_is_confirmed": 0,
                   "test_the_form_is_there_before_the_first_answer": 0},
    "test_intake": {"test_the_order_of_rows_changes_nothing": 0},
    "test_interview_in_browser": {"test_it_is_accessible_and_as_wide_as_the_page": 0, "test_an_odd_address_does_no_harm": 1,
                                  "test_odd_things_in_the_storage_do_no_harm": 1,
                                  "test_paper_after_a_mock_has_its_result_and_no_lists": 0,
                                  "test_two_people_with_one_address_get_the_same_set": 1,
                                  "test_clocks_run_stand_and_speak_politely": 0, "test_it_works_where_storage_is_blocked": 0},
    "test_javascript": {"test_a_script_holds_what_its_laws_reach_and_stays_small": 0},
    "test_kept": {"test_a_notebook_is_said_to_read_what_was_worked_out_before_it": 0},
    "test_layouts": {"test_every_column_of_a_random_sample_is_what_the_scalar_laws_give": 1,
                     "test_the_best_is_the_least_of_what_runs": 1, "test_the_parts_of_a_step_sum_to_it": 2,
                     "test_there_is_every_combination_once": 1, "test_memory_does_not_grow_with_the_search": 0,
                     "test_blocks_of_any_size_give_the_same_rows_ties_included": 0,
                     "test_more_gpus_never_slow_the_best_where_the_old_layouts_stay": 0,
                     "test_what_runs_uses_every_gpu_and_every_sequence_once": 2},
    "test_lean": {"test_the_site_is_the_same_without": 0},
    "test_lesson_in_browser": {"test_the_steps_of_random_cases_are_python_s": 2, "test_hostile_addresses_are_text": 0,
                               "test_rent_or_buy_has_its_lesson": 0, "test_sliders_stand_at_the_case_as_far_as_they_reach": 0,
                               "test_the_panel_fits_a_phone": 0, "test_a_lesson_without_formulas_says_so": 0},
    "test_lesson_page": {"test_a_link_opens_what_is_folded": 2},
    "test_notebooks": {"test_a_sync_of_a_clean_checkout_changes_nothing": 0,
                       "test_a_sync_takes_over_what_was_edited_and_nothing_else": 0,
                       "test_the_page_has_no_hole_where_sphinx_is_not": 12},
    "test_numbers_to_know": {"test_it_is_accessible_and_as_wide_as_the_page": 0},
    "test_own_prices": {"test_a_price_file_of_the_readers_own_is_named_and_its_markup_is_text": 0,
                        "test_the_front_page_answers_at_the_readers_prices": 0, "test_pages_follow_the_prices": 0},
    "test_processors": {"test_an_older_processor_gives_what_is_recorded": 0,
                        "test_a_last_digit_of_a_recording_may_differ_and_no_digit_that_is_read": 6},
    "test_random_books": {"test_a_book_of_few_prices_breaks_no_page": 0, "test_nor_do_those_that_take_longer": 0,
                          "test_no_page_falls_over_a_book_or_the_order_of_its_rows": 1, "test_nor_does_a_budget": 0,
                          "test_a_lower_price_of_one_offer_never_costs_more": 0},
    "test_readme": {"test_the_tests_of_a_recipe_are_there": 0},
    "test_rule": {"test_fleets_are_those_of_plain_loops": 1, "test_runs_are_those_of_plain_loops": 2,
                  "test_every_card_alone_has_a_choice_or_a_reason": 1, "test_no_input_that_a_job_takes_is_ignored": 8},
    "test_rule_in_browser": {"test_the_script_stays_small": 0},
    "test_selections": {"test_a_page_runs_again_where_its_answers_change": 1},
    "test_simulator": {"test_the_p95_is_within_its_limits_and_a_fifth_more_or_less_is_not": 1,
                       "test_experts_at_a_low_load_are_read_less_often_than_the_formula_says": 1},
    "test_site": {"test_a_page_from_a_server_is_as_good": 1, "test_a_page_loads_nothing_from_elsewhere_and_has_no_error": 8,
                  "test_a_phone_needs_no_sideways_scrolling": 8, "test_search_finds_the_page_first": 2,
                  "test_a_page_is_light_and_has_a_title": 12, "test_paper_shows_all_charts_and_folds": 0},
    "test_site_charts": {"test_every_slider_computes_what_the_law_computes": 3,
                         "test_a_theme_change_redraws_and_keeps_the_sliders": 2,
                         "test_charts_wait_until_they_come_near_and_move_nothing": 1},
    "test_suite": {"test_the_seed_of_random_cases_is_said": 0, "test_long_tests_that_are_left_out_are_counted_by_workers_too": 0},
    "test_tables": {"test_no_clock_stops_a_command": 3},
    "test_training_cost": {"test_a_dearer_rent_is_never_better": 1, "test_the_recommended_is_the_cheapest_in_time": 1,
                           "test_more_time_never_costs_more": 1},
    "test_what_changed": {"test_break_even_falls_as_rents_rise": 0, "test_a_missing_price_is_shown_as_such": 2},
    "test_wheel": {"test_every_command_runs_with_what_the_wheel_needs_and_no_more": 4},
    "test_worked_cases": {"test_what_binds_costs_what_is_saved_without_it": 2, "test_more_people_turn_an_api_into_servers": 0},
    "test_yours_in_browser": {"test_figures_follow_the_case_as_python_says": 1},
}


def late(items):
    """Those of the tests that come after the first few."""
    seen = {}
    for item in items:
        most = FEW.get(item.path.stem, {}).get(getattr(item, "originalname", None))
        if most is not None and not item.get_closest_marker("long"):
            key = item.path.stem, item.originalname
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > most:
                yield item
