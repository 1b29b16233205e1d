# Writes classification sets as CSV files for opl bench --learning --classes, whose column class is the label.
#
#     Rscript sets.R FOLDER
#
# Debian: r-cran-modeldata, r-cran-kernlab, r-cran-mlbench. A package that is missing is left out.
# Ordered factors and dates are written as numbers, other factors as names. Rows without a label are left out.

folder <- commandArgs(TRUE)
if (length(folder) != 1) stop("usage: Rscript sets.R FOLDER")

write <- function(package, set, file, label, drop = c()) {
  if (!nzchar(system.file(package = package))) {
    message(file, ": no package ", package)
    return(invisible())
  }
  all <- new.env()
  data(list = set, package = package, envir = all)
  rows <- as.data.frame(get(set, all))
  rows <- rows[!is.na(rows[[label]]), ]
  class <- as.character(rows[[label]])
  if (package != "mlbench") class <- paste0("k", gsub("[^A-Za-z0-9]", "_", class))
  x <- rows[, setdiff(names(rows), c(label, drop)), drop = FALSE]
  for (name in names(x)) {
    v <- x[[name]]
    if (is.ordered(v) && !anyNA(suppressWarnings(as.numeric(levels(v))))) x[[name]] <- as.numeric(as.character(v))
    else if (inherits(v, "Date") || is.ordered(v)) x[[name]] <- as.numeric(v)
    else if (is.factor(v) || is.logical(v)) x[[name]] <- as.character(v)
  }
  write.csv(cbind(x, class = class), file.path(folder, paste0(file, ".csv")), row.names = FALSE, na = "")
}

write("modeldata", "hpc_data", "hpc", "class")
write("modeldata", "attrition", "jobrole", "JobRole")
write("modeldata", "mlc_churn", "churn", "churn")
write("modeldata", "wa_churn", "wachurn", "churn")
write("modeldata", "cells", "cells", "class", "case")
write("modeldata", "credit_data", "credit", "Status")
write("modeldata", "ames", "bldg", "Bldg_Type")
write("modeldata", "ames", "hood", "Neighborhood")
write("modeldata", "penguins", "penguins", "species")
write("modeldata", "scat", "scat", "Species")
write("modeldata", "stackoverflow", "remote", "Remote")
write("modeldata", "lending_club", "lending", "Class")
write("kernlab", "income", "income", "INCOME")
write("kernlab", "spam", "spam", "type")
write("kernlab", "musk", "musk", "Class")

for (set in c("Satellite", "Shuttle", "LetterRecognition", "Vowel", "HouseVotes84", "PimaIndiansDiabetes",
              "BreastCancer", "Sonar", "Glass", "Ionosphere", "Soybean", "DNA", "Vehicle")) {
  label <- c(Satellite = "classes", LetterRecognition = "lettr", PimaIndiansDiabetes = "diabetes", Glass = "Type")
  write("mlbench", set, tolower(set), if (set %in% names(label)) label[[set]] else "Class", "Id")
}
