"""The pipeline that makes the site: notebooks run, pages made, finished and put in place."""
