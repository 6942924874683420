"""What the pages are called to which others send, as book/_toc.yml has it."""

PAGES = {
    "model_size": "A model and a GPU in numbers", "arithmetic_intensity": "Compute or memory", "kv_cache": "KV cache",
    "quantization": "Quantization", "training_memory": "Training memory", "interconnect": "Links between GPUs",
    "serving": "Serving a load", "experts": "Mixtures of experts", "apart": "Prompts and answers apart",
    "training_time": "Training time", "layouts": "Parallel layouts", "post_training": "Post-training",
    "break_even": "Rent or buy", "training_cost": "What a run costs", "serving_cost": "What a token costs",
    "total_cost": "The whole bill", "what_changed": "What changed", "financing": "Cash, lease or loan",
    "commitments": "Reserving", "sharing": "Sharing a GPU", "budget": "A monthly budget", "utilization": "Measure",
    "own_counters": "Your own counters", "find_cause": "Find the cause", "hardware_facts": "Hardware facts",
    "failures": "Failures", "lists": "Lists", "drills": "Drills", "numbers_to_know": "Numbers by heart",
    "which_gpu": "Which GPU do I need?", "cards": "Every card", "generations": "Generations", "memories": "Memories",
    "nodes": "Nodes and racks", "instances": "Cloud instances", "accelerators": "AMD, TPU and others", "models": "Every model",
    "what_to_buy": "Sizes and budgets", "new_card": "A card not out yet", "measurements": "Measurements", "claims": "Claims",
    "network_checklist": "Network checklist", "case_chat_70b": "A 70B chat", "case_four_cards": "Four cards compared",
    "case_deadline_7b": "A deadline", "case_pretrain_405b": "A 405B of our own", "case_house_or_api": "Own servers or an API",
    "case_deepseek_nodes": "DeepSeek-V3 on nodes", "case_two_million": "Two million dollars",
}
