"""Tests of which `make test` runs the first few: the others are long. What is left sees each kind of fault once.

A test that looks at one thing on page after page, in theme after theme or for case after case keeps a few of them. One that takes
many seconds for what faster tests see too is marked long where it stands.
"""

# How many run, by file and name of the test.
FEW = {
    "test_answer": {"test_an_odd_price_is_asked_about_wherever_it_decides": 1, "test_every_card_answers_for_a_model_that_fits_it": 1},
    "test_answer_in_browser": {"test_a_script_that_did_not_load_is_said": 1,
                               "test_rents_of_ones_own_are_laid_over_the_book_as_in_python": 1},
    "test_answer_schema": {"test_each_case_and_its_answer_are_as_the_schema_says": 6},
    "test_build": {"test_the_line_of_a_cell_that_failed_is_shown": 1},
    "test_cards": {"test_every_derived_cell_of_a_card_is_its_law_for_it_alone": 12,
                   "test_every_derived_cell_of_a_slice_is_its_law_for_it_alone": 6},
    "test_catalogue_page": {"test_an_address_that_says_nothing_changes_nothing": 1},
    "test_drills_in_browser": {"test_an_address_that_says_nothing_is_borne": 1},
    "test_front": {"test_a_preset_survives_its_address_and_its_yaml": 1,
                   "test_every_input_of_a_job_is_on_the_page": 2,
                   "test_a_phone_needs_no_sideways_scrolling_and_no_small_target": 1},
    "test_headlines": {"test_every_figure_of_a_headline_has_its_band": 16},
    "test_interview": {"test_an_answer_is_one_to_two_minutes_of_speech": 12},
    "test_interview_in_browser": {"test_an_odd_address_does_no_harm": 1, "test_odd_things_in_the_storage_do_no_harm": 1,
                                  "test_two_people_with_one_address_get_the_same_set": 1},
    "test_layouts": {"test_every_column_of_a_random_sample_is_what_the_scalar_laws_give": 1,
                     "test_the_best_is_the_least_of_what_runs": 1, "test_the_parts_of_a_step_sum_to_it": 2,
                     "test_there_is_every_combination_once": 1, "test_what_runs_uses_every_gpu_and_every_sequence_once": 2},
    "test_lesson_in_browser": {"test_the_steps_of_random_cases_are_python_s": 2},
    "test_lesson_page": {"test_a_link_opens_what_is_folded": 2},
    "test_notebooks": {"test_the_page_has_no_hole_where_sphinx_is_not": 12},
    "test_parameters": {"test_papermill_shows_kind_default_and_comment": 8},
    "test_processors": {"test_a_last_digit_of_a_recording_may_differ_and_no_digit_that_is_read": 6},
    "test_random_books": {"test_no_page_falls_over_a_book_or_the_order_of_its_rows": 1},
    "test_rule": {"test_fleets_are_those_of_plain_loops": 1, "test_runs_are_those_of_plain_loops": 1,
                  "test_every_card_alone_has_a_choice_or_a_reason": 1, "test_no_input_that_a_job_takes_is_ignored": 8},
    "test_simulator": {"test_the_p95_is_within_its_limits_and_a_fifth_more_or_less_is_not": 1,
                       "test_experts_at_a_low_load_are_read_less_often_than_the_formula_says": 1,
                       "test_replicas_that_share_the_requests": 1, "test_the_p99_of_the_gaps_between_tokens": 1},
    "test_site": {"test_a_lesson_is_printed_on_eight_sheets_and_whole_where_that_is_asked": 2,
                  "test_a_page_from_a_server_is_as_good": 1,
                  "test_a_headline_unfolds_to_its_formula_numbers_and_sources": 3, "test_a_page_loads_nothing_from_elsewhere_and_has_no_error": 8,
                  "test_a_phone_needs_no_sideways_scrolling": 8, "test_search_finds_the_page_first": 2,
                  "test_a_page_is_light_and_has_a_title": 12},
    "test_site_charts": {"test_every_slider_computes_what_the_law_computes": 3,
                         "test_a_theme_change_redraws_and_keeps_the_sliders": 2,
                         "test_charts_wait_until_they_come_near_and_move_nothing": 1},
    "test_tables": {"test_no_clock_stops_a_command": 3},
    "test_training_cost": {"test_a_dearer_rent_is_never_better": 1, "test_the_recommended_is_the_cheapest_in_time": 1,
                           "test_more_time_never_costs_more": 1},
    "test_what_changed": {"test_a_missing_price_is_shown_as_such": 2},
    "test_wheel": {"test_every_command_runs_with_what_the_wheel_needs_and_no_more": 4},
    "test_worked_cases": {"test_what_binds_costs_what_is_saved_without_it": 2},
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
